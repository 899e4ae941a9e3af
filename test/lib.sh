# Shell functions that the commands in test/ and bench/ share.  Source it.
#
# Every command works on throw-away servers in a temporary directory, $RUN:
#
#   $RUN/root   a private copy of the server's installation (links, mostly), so
#               that what is tested is neither installed into the machine nor
#               replaced by a run beside this one
#   $RUN/src    a copy of the checkout that the server's account can read
#   $RUN/<name> clusters, results and logs
#
# Build products are kept between runs in $ZHEAP_CACHE (outside the checkout).
#
# Environment:
#   ZHEAP_CACHE   default /var/cache/zheap, or ~/.cache/zheap without root
#   PG_CONFIG     another server than Debian's postgresql-15
#   ZHEAP_TMPDIR  where $RUN is made; default /tmp (socket names must stay short)
#   ZHEAP_AM      table access method under test; "heap" runs the scripts without
#                 building anything, to work on the scripts themselves

PG_MAJOR=${ZHEAP_PG:-15}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
AM=${ZHEAP_AM:-zheap}
AS_ROOT=
[ "$(id -u)" = 0 ] && AS_ROOT=yes
if [ -n "$AS_ROOT" ]; then
	CACHE=${ZHEAP_CACHE:-/var/cache/zheap}
else
	CACHE=${ZHEAP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zheap}
fi
BASE_PG_CONFIG=${PG_CONFIG:-/usr/lib/postgresql/$PG_MAJOR/bin/pg_config}
OWNER=postgres					# account that servers run under if we are root
RUN=
BINDIR=

# The caller's own PostgreSQL settings must not leak into a test.
for v in $(compgen -e | grep '^PG' || true); do
	case $v in
		PG_CONFIG | PG_TEST_* | PG_COLOR) ;;
		*) unset "$v" ;;
	esac
done
unset v PG_CONFIG
export LC_ALL=C.UTF-8
# recovery with assertions on a busy machine takes minutes, not the minute that pg_ctl waits for
export PGCTLTIMEOUT=${PGCTLTIMEOUT:-900}
export PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT:-900}

say()
{
	printf '%s\n' "$*" >&2
}

die()
{
	say "error: $*"
	exit 1
}

# progress line with the time since the command was started
step()
{
	printf '[%3ds] %s\n' "$SECONDS" "$*" >&2
}

# Run a command; show its output only if it fails.
quietly()
{
	local log rc=0

	log=$(mktemp)
	"$@" >"$log" 2>&1 || rc=$?
	if [ $rc -ne 0 ]; then
		tail -n 60 "$log" >&2
		say "failed ($rc): $*"
	fi
	rm -f "$log"
	return $rc
}

# ---------------------------------------------------------------- packages

BUILD_PACKAGES="postgresql-$PG_MAJOR postgresql-server-dev-$PG_MAJOR libicu-dev gcc libc6-dev make"
TEST_PACKAGES="python3 libipc-run-perl"
PGTAP_PACKAGES="postgresql-$PG_MAJOR-pgtap libtap-parser-sourcehandler-pgtap-perl"
COUNT_PACKAGES="python3 valgrind binutils"
ASSERT_PACKAGES="bzip2 pkg-config libicu-dev liblz4-dev libzstd-dev zlib1g-dev"
# sources of 17 and later lack the files that bison and flex generate
[ "$PG_MAJOR" -lt 17 ] || ASSERT_PACKAGES+=" bison flex perl"

# Install the named Debian packages that are missing.
ensure_packages()
{
	local missing=() p

	command -v dpkg-query >/dev/null || return 0	# not Debian: trust PATH
	for p in "$@"; do
		case $p in
			postgresql-$PG_MAJOR | postgresql-server-dev-$PG_MAJOR)
				# a server of the caller's own needs neither
				[ "$BASE_PG_CONFIG" = "/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" ] || continue ;;
		esac
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	[ -n "$AS_ROOT" ] || die "please install: ${missing[*]}"

	step "installing ${missing[*]}"
	install_packages "${missing[@]}" || die "apt could not install: ${missing[*]}"
}

install_packages()
{
	local drop=/etc/postgresql-common/createcluster.d/zheap-no-cluster.conf rc=0
	# apt waits for dpkg's lock, but not for that of its own lists: another run may have it
	local apt="flock -o /run/lock/zheap-apt env DEBIAN_FRONTEND=noninteractive"
	apt+=" apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300"

	quietly $apt update || return 1
	# The server's package would make and start a cluster of its own.
	mkdir -p "${drop%/*}"
	echo "create_main_cluster = false" >"$drop"
	quietly $apt install --no-install-recommends "$@" || rc=$?
	rm -f "$drop"
	return $rc
}

# ---------------------------------------------------------------- run directory

# Make $RUN.  Call once; cleanup is then done on every way out.
run_begin()
{
	RUN=$(mktemp -d "${ZHEAP_TMPDIR:-/tmp}/zheap-$1.XXXXXX")
	chmod 755 "$RUN"
	export HOME=$RUN TMPDIR=$RUN
	own "$RUN"
	trap run_end EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# Stop what runs in $RUN and remove it, unless RUN_KEEP=servers (leave all as it
# is) or RUN_KEEP=files (stop servers, keep files).
run_end()
{
	local rc=$? pid pidfile

	trap - EXIT
	trap '' HUP INT TERM
	pid=$(jobs -p)
	[ -z "$pid" ] || kill $pid 2>/dev/null || true
	if [ -n "$RUN" ] && [ "${RUN_KEEP:-}" != servers ]; then
		for pidfile in $(find "$RUN" -name postmaster.pid 2>/dev/null); do
			pid=$(head -n 1 "$pidfile" 2>/dev/null || true)
			[ -z "$pid" ] || kill -QUIT "$pid" 2>/dev/null || true
		done
		cd /
		if [ "${RUN_KEEP:-}" != files ]; then
			# a server that is just leaving may still write a file
			rm -rf "$RUN" 2>/dev/null || { sleep 1; rm -rf "$RUN" || true; }
		fi
	fi
	exit $rc
}

# keep_files STATUS KEEP: files of a run that failed stay to be looked at, except in CI
keep_files()
{
	if [ -n "$2" ] || { [ "$1" -ne 0 ] && [ -z "${CI:-}" ]; }; then
		RUN_KEEP=files
		echo "kept: $RUN"
	fi
}

own()
{
	[ -z "$AS_ROOT" ] || chown -R "$OWNER": "$@"
}

# Run a command as the account that may run servers.
as_owner()
{
	(as_owner_exec "$@")
}

# The same in place of the shell: for  as_owner_exec ... &  so that $! is the command.
as_owner_exec()
{
	if [ -n "$AS_ROOT" ]; then
		exec setpriv --reuid="$OWNER" --regid="$OWNER" --init-groups -- "$@"
	else
		exec "$@"
	fi
}

# ---------------------------------------------------------------- source, build, install

# names of the checkout's files, NUL-terminated, relative to $TOP
list_source()
{
	local f

	cd "$TOP"
	if command -v git >/dev/null && git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
		git -c safe.directory='*' ls-files -z --cached --others --exclude-standard
	else
		find . -type d \( -name .git -o -name tmp_check -o -name results \) -prune -o \
			-type f ! -name '*.[do]' ! -name '*.so' -printf '%P\0'
	fi | sort -zu | while IFS= read -r -d '' f; do
		[ ! -f "$f" ] || printf '%s\0' "$f"
	done
}

# Make $1 hold the checkout's files, with their times; files that the checkout no
# longer has go, build products stay.
copy_source()
{
	local to=$1 list

	mkdir -p "$to"
	list=$(mktemp)
	(list_source) >"$list"
	if [ -f "$to/.source-list" ]; then
		comm -z -23 "$to/.source-list" "$list" | (cd "$to" && xargs -0 -r rm -f --)
	fi
	tar -C "$TOP" --null -T "$list" -cf - | tar -C "$to" --no-same-owner -xf -
	mv "$list" "$to/.source-list"
	chmod -R a+rX "$to"
}

# A copy of a server's installation under $RUN/root, for  make install DESTDIR=.
# Programs are real copies, because the server finds its files relative to them.
stage_server()
{
	local pg_config=$1 root=$RUN/root lib share bin

	bin=$("$pg_config" --bindir)
	lib=$("$pg_config" --pkglibdir)
	share=$("$pg_config" --sharedir)
	BINDIR=$root$bin
	mkdir -p "$BINDIR" "$root$lib" "$root$share/extension"
	cp -L "$bin"/* "$BINDIR/"
	find "$lib" -mindepth 1 -maxdepth 1 ! -name 'zheap*' -exec ln -s -t "$root$lib" {} + 2>/dev/null || true
	find "$share" -mindepth 1 -maxdepth 1 ! -name extension -exec ln -s -t "$root$share" {} +
	find "$share/extension" -mindepth 1 -maxdepth 1 ! -name 'zheap*' -exec ln -s -t "$root$share/extension" {} +
	# pgTAP is plain SQL: the machine's serves other servers too
	[ -e "$root$share/extension/pgtap.control" ] ||
		find "/usr/share/postgresql/$PG_MAJOR/extension" -name 'pgtap*' \
			-exec ln -s -t "$root$share/extension" {} + 2>/dev/null || true
	PGXS_TEST=$(cd "$(dirname "$("$pg_config" --pgxs)")/../test" && pwd)
	# without its own, the newest of the machine's, which know older and newer servers
	PERL_TEST=$PGXS_TEST/perl
	[ -d "$PERL_TEST" ] ||
		PERL_TEST=$(ls -dv /usr/lib/postgresql/*/lib/pgxs/src/test/perl 2>/dev/null | tail -n 1)
}

# Build the checkout for the server of pg_config $1 and install it below $2 (""
# means into the machine); the module of test/unit too, unless NO_UNIT is set.
# Objects stay in $CACHE, so the next time is quick.
build_install()
{
	local pg_config=$1 destdir=$2 key dir

	[ "$AM" != heap ] || return 0
	mkdir -p "$CACHE/build"
	key=$({ echo "$TOP" "$pg_config" "${CI:-}" "${COPT:-}"; "$pg_config"; gcc --version; } | sha256sum | cut -c1-16)
	dir=$CACHE/build/$key
	(
		exec 9>"$dir.lock"
		flock 9
		copy_source "$dir" && build_one "$dir" "$pg_config" "$destdir" || exit 1
		if [ -z "${NO_UNIT:-}" ] && [ -f "$dir/test/unit/Makefile" ] && [ -n "$destdir" ]; then
			build_one "$dir/test/unit" "$pg_config" "$destdir"
		fi
	) || die "build failed"
}

# Warnings are errors where CI is set.  Objects come from ccache, if there, also for another
# checkout's path.
build_one()
{
	local make=(make -s -C "$1" PG_CONFIG="$2" COPT="${COPT:-}${CI:+ -Werror}")

	if command -v ccache >/dev/null; then
		export CCACHE_DIR=$CACHE/ccache CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
		make+=(CC="ccache gcc")
	fi
	quietly "${make[@]}" -j "$(nproc)" && quietly "${make[@]}" DESTDIR="$3" install
}

# ---------------------------------------------------------------- assert-enabled server

ASSERT_PREFIX=$CACHE/pg$PG_MAJOR-assert
# the folder of the unpacked source package, for example postgresql-18.6
SOURCES=$CACHE/src
[ "$PG_MAJOR" = 15 ] || SOURCES+=$PG_MAJOR

# Build a server with assertions from Debian's source package, once.
ensure_assert_server()
{
	mkdir -p "$CACHE"
	(
		exec 9>"$CACHE/assert.lock"
		flock 9
		[ ! -f "$ASSERT_PREFIX/complete" ] || exit 0
		ensure_packages $BUILD_PACKAGES $ASSERT_PACKAGES libipc-run-perl
		build_assert_server
	) || die "cannot build a server with assertions"
}

# choose_server ASSERT: set SERVER, the pg_config of the server to test
choose_server()
{
	SERVER=$BASE_PG_CONFIG
	if [ -n "$1" ]; then
		ensure_assert_server
		SERVER=$ASSERT_PREFIX/bin/pg_config
	fi
	[ -x "$SERVER" ] || die "no pg_config at $SERVER"
}

build_assert_server()
{
	local src work=$CACHE/pg$PG_MAJOR-assert.build log=$CACHE/pg$PG_MAJOR-assert.log

	fetch_server_source || return 1
	src=$(echo "$SOURCES/postgresql-$PG_MAJOR"*/)
	step "building a server with assertions, once, about 5 minutes (log: $log)"
	rm -rf "$work" "$ASSERT_PREFIX"
	mkdir -p "$work"
	bash -ec '
		cd "$1"
		"$2/configure" --prefix="$3" --enable-cassert --enable-debug \
			--enable-tap-tests --without-readline --with-icu --with-lz4 --with-zstd \
			--with-system-tzdata=/usr/share/zoneinfo \
			CFLAGS="-O1 -g -fno-omit-frame-pointer"
		make -s -j "$(nproc)"
		make -s -j "$(nproc)" -C contrib
		make -s -C src/test/regress
		make -s -C src/test/isolation
		for d in . contrib src/test/regress src/test/isolation src/test/perl; do
			make -s -C "$d" install
		done' build "$work" "$src" "$ASSERT_PREFIX" >"$log" 2>&1 ||
		{ tail -n 40 "$log" >&2; return 1; }
	rm -rf "$work"
	chmod -R a+rX "$ASSERT_PREFIX"
	"$ASSERT_PREFIX/bin/pg_config" --version >"$ASSERT_PREFIX/complete"
}

# Unpack Debian's source of the server in $SOURCES.  The source lists are copies of those
# installed, with deb-src in place of deb.
fetch_server_source()
{
	local dir=$SOURCES apt=$SOURCES/apt lists version name=postgresql-$PG_MAJOR

	ls -d "$dir/$name"*/ >/dev/null 2>&1 && return 0
	[ -n "$AS_ROOT" ] || die "run once as root: the source package is fetched by apt"
	step "fetching the source package $name"
	rm -rf "$dir"
	mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
	[ ! -f /etc/apt/sources.list.d/debian.sources ] ||
		sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$apt/parts/debian.sources"
	[ ! -f /etc/apt/sources.list ] ||
		sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$apt/parts/main.list"
	lists="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$apt/parts -o Dir::State::lists=$apt/lists
		-o Dir::Cache=$apt/cache -o APT::Sandbox::User=root"
	quietly apt-get $lists -q update || return 1
	# newest first; a mirror may lag behind its own list
	for version in $(apt-cache $lists madison "$name" | awk '{ print $3 }' | sort -ruV); do
		if (cd "$dir" && apt-get $lists -q source --download-only "$name=$version") >"$dir/log" 2>&1; then
			tar -C "$dir" -xjf "$dir/${name}_${version%%-*}".orig.tar.bz2 || return 1
			rm -rf "$apt"
			return 0
		fi
	done
	[ ! -s "$dir/log" ] || tail -n 20 "$dir/log" >&2
	say "the mirror does not have the source package $name, of which a server with assertions is made"
	return 1
}

# ---------------------------------------------------------------- clusters

# settings of every server: test/zheap.conf
server_conf()
{
	if [ "$AM" = heap ]; then
		grep -v '^shared_preload_libraries' "$TOP/test/zheap.conf"
	else
		cat "$TOP/test/zheap.conf"
	fi
}

# cluster_start NAME: a server in $RUN/NAME with test/zheap.conf and the settings
# on standard input.  Sets CLUSTER, SOCKET, PORT and the PG* variables.
cluster_start()
{
	CLUSTER=$RUN/$1
	SOCKET=$RUN/$1.sock
	PORT=54329
	mkdir -m 700 "$SOCKET"
	own "$SOCKET"
	quietly as_owner "$BINDIR/initdb" -D "$CLUSTER" -A trust -U postgres -E UTF8 \
		--locale=C.UTF-8 --no-sync || die "initdb failed"
	{
		server_conf
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$SOCKET'"
		echo "port = $PORT"
		cat
	} >>"$CLUSTER/postgresql.conf"
	export PGHOST=$SOCKET PGPORT=$PORT PGUSER=postgres PGDATABASE=postgres
	quietly as_owner "$BINDIR/pg_ctl" -D "$CLUSTER" -l "$CLUSTER.log" -w -t 120 start ||
		{ tail -n 20 "$CLUSTER.log" >&2; die "server did not start"; }
}

cluster_stop()
{
	quietly as_owner "$BINDIR/pg_ctl" -D "$CLUSTER" -w -m "${1:-fast}" stop
}

# sql DATABASE STATEMENT...: unaligned, tuples only; any error ends the script
sql()
{
	local db=$1 args=() s

	shift
	for s in "$@"; do
		args+=(-c "$s")
	done
	as_owner "$BINDIR/psql" -X -qAt -v ON_ERROR_STOP=1 -d "$db" "${args[@]}"
}

# ---------------------------------------------------------------- commands in python

# test/NAME gets its options in order and builds zheap; the rest is test/lib/NAME/NAME.py.

# python_begin NAME ASSERT: $RUN with zheap, test/lib and a directory for servers
python_begin()
{
	ensure_packages $BUILD_PACKAGES python3
	choose_server "$2"
	run_begin "$1"
	step "building for $("$SERVER" --version)"
	stage_server "$SERVER"
	(trap - EXIT; build_install "$SERVER" "$RUN/root") || exit 1
	cp -r "$TOP/test/lib" "$RUN/lib"
	mkdir "$RUN/servers"
	server_conf >"$RUN/server.conf"
	chmod -R a+rX "$RUN/lib" "$RUN/server.conf"
	own "$RUN/servers"
}

# python_run NAME OPTION...
python_run()
{
	# a caller's own python may be out of the owner's reach
	as_owner "$(PATH=/usr/bin:$PATH command -v python3)" "$RUN/lib/$1/$1.py" "${@:2}"
}
