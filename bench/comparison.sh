# What bench/run and bench/prefetch-test have in common: a server, python, matplotlib.  Source it.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# a python with matplotlib; prints its path
plotting_python()
{
	local venv=$CACHE/plots

	if [ ! -f "$venv/complete" ]; then
		ensure_packages python3-venv
		step "installing matplotlib into $venv"
		quietly /usr/bin/python3 -m venv "$venv" && quietly "$venv/bin/pip" install 'matplotlib>=3.8,<4' || return 1
		chmod -R a+rX "$venv"
		touch "$venv/complete"
	fi
	echo "$venv/bin/python"
}

# comparison_prepare NAME PLOTS: zheap is built, and $RUN has what the programs need; PLOTS: empty for none
comparison_prepare()
{
	ensure_packages $BUILD_PACKAGES python3
	PYTHON=$(command -v /usr/bin/python3 || command -v python3)
	[ -z "$2" ] || PYTHON=$(plotting_python) || die "matplotlib cannot be installed; --no-plots does without"
	choose_server ""
	run_begin "$1"
	step "building for $("$SERVER" --version)"
	stage_server "$SERVER"
	(trap - EXIT; build_install "$SERVER" "$RUN/root") || exit 1
	cp -r "$BENCH/comparison" "$BENCH/pgbench" "$RUN/"
	cp "$BENCH/instructions.txt" "$RUN/"
	mkdir "$RUN/out"
	{ server_conf; bench_conf; } >"$RUN/server.conf"
	chmod -R a+rX "$RUN/comparison" "$RUN/pgbench" "$RUN/server.conf" "$RUN/instructions.txt"
	own "$RUN/out"
}

# memory_group: a control group whose memory the server's account may limit; prints its folder, nothing if there can be none
memory_group()
{
	local root=/sys/fs/cgroup group

	[ -n "$AS_ROOT" ] || return 0
	if [ -f $root/memory/memory.limit_in_bytes ]; then
		root=$root/memory
	elif ! grep -qw memory $root/cgroup.subtree_control 2>/dev/null; then
		return 0
	fi
	group=$root/zheap-bench-$$
	mkdir "$group" 2>/dev/null || return 0
	(echo $BASHPID >"$group/cgroup.procs") 2>/dev/null || { rmdir "$group"; return 0; }
	chown "$OWNER" "$(memory_limit "$group")"
	echo "$group"
}

memory_limit()
{
	[ -f "$1/memory.max" ] && echo "$1/memory.max" || echo "$1/memory.limit_in_bytes"
}

# comparison_call PROGRAM ARGUMENT...: one of bench/comparison, as the server's account
comparison_call()
{
	local program=$1 group status=0

	shift
	group=$(memory_group)
	if [ -z "$group" ]; then
		comparison_run "$program" "$@"
		return
	fi
	(echo $BASHPID >"$group/cgroup.procs"; comparison_run "$program" --memory-limit "$(memory_limit "$group")" "$@") || status=$?
	# what it has started ends a little later, if it was interrupted
	for _ in $(seq 100); do
		rmdir "$group" 2>/dev/null && break
		sleep 0.1
	done
	return $status
}

comparison_run()
{
	local program=$1

	shift
	as_owner "$PYTHON" "$RUN/comparison/$program" --bindir "$BINDIR" --run "$RUN" --clients "$CLIENTS" --threads "$THREADS" \
		--version "$(git -c safe.directory='*' -C "$TOP" describe --always --dirty 2>/dev/null || echo unknown)" "$@"
}

# comparison_report DIRECTORY: what the program has written
comparison_report()
{
	mkdir -p "$1"
	cp "$RUN"/out/* "$1/"
}
