# Measuring functions of bench/quickstart and bench/must_show.  Source it.
#
# One server, two databases: "heap" and "zheap", each with its own
# default_table_access_method.  Whatever is compared is run on both in turn.

. "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

PGBENCH_SCRIPTS=$TOP/bench/pgbench
CLIENTS=${BENCH_CLIENTS:-8}
THREADS=${BENCH_THREADS:-2}

# Settings of the measured server, beside test/zheap.conf.  Checkpoints come only
# when a measurement asks for one, and WAL stays there to be read afterwards.
bench_conf()
{
	cat <<-CONF
	shared_buffers = '${BENCH_SHARED_BUFFERS:-512MB}'
	max_connections = 400
	max_wal_size = '20GB'
	wal_keep_size = '10GB'
	checkpoint_timeout = '1h'
	autovacuum_naptime = '10s'
	CONF
}

# make_database NAME: "heap" or "zheap"
make_database()
{
	local am=heap

	[ "$1" = heap ] || am=$AM
	sql postgres "create database $1"
	[ "$am" = heap ] || sql "$1" "create extension if not exists zheap"
	sql "$1" "alter database $1 set default_table_access_method = $am"
}

drop_database()
{
	sql postgres "set client_min_messages = warning" "drop database if exists $1 with (force)"
}

# restart_with STATEMENT: start the server again after a change of settings
restart_with()
{
	sql postgres "$1"
	cluster_stop
	quietly as_owner "$BINDIR/pg_ctl" -D "$CLUSTER" -l "$CLUSTER.log" -w -t 120 start
}

# pgbench_init DATABASE SCALE
pgbench_init()
{
	quietly as_owner "$BINDIR/pgbench" -i -q -s "$2" "$1" || die "pgbench -i failed in $1"
}

# pgbench_run DATABASE OPTION...: prints transactions per second
pgbench_run()
{
	local db=$1 log=$RUN/pgbench.log

	shift
	as_owner "$BINDIR/pgbench" -n "$@" "$db" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "pgbench $* failed in $db"; }
	if grep -Eq 'aborted|number of failed transactions: [1-9]' "$log"; then
		tail -n 20 "$log" >&2
		die "pgbench $* lost clients or transactions in $db"
	fi
	awk '/^tps/ { printf "%.0f\n", $3 }' "$log"
}

# pages DATABASE RELATION
pages()
{
	sql "$1" "select pg_relation_size('$2') / current_setting('block_size')::int"
}

# bytes of the undo relation of a database, 0 if it has none
undo_bytes()
{
	sql "$1" "select coalesce(pg_total_relation_size(to_regclass('zheap.undo')), 0)"
}

# end of WAL that is on disk, so that pg_waldump finds it
lsn()
{
	sql postgres "select pg_current_wal_flush_lsn()"
}

# wal_report FROM TO FILE: statistics by record type
wal_report()
{
	as_owner "$BINDIR/pg_waldump" -p "$CLUSTER/pg_wal" --stats=record -s "$1" -e "$2" >"$3" 2>/dev/null ||
		[ -s "$3" ] || die "pg_waldump failed between $1 and $2"
}

# Lines "type count record-bytes image-bytes" of a report; the last is "Total".
wal_rows()
{
	sed -E 's/\([^)]*\)//g; s/\[[^]]*\]//g' "$1" |
		awk 'NF >= 5 && $(NF - 3) ~ /^[0-9]+$/ {
			name = $1
			for (i = 2; i <= NF - 4; i++) name = name "_" $i
			print name, $(NF - 3), $(NF - 2), $(NF - 1)
		}'
}

# wal_total FILE record|image: bytes
wal_total()
{
	wal_rows "$1" | awk -v what="$2" '$1 == "Total" { print what == "record" ? $3 : $4 }'
}

# processor time of the postmaster, its children and those that it has waited for, in 1/100 s
cpu_used()
{
	local postmaster

	postmaster=$(head -n 1 "$CLUSTER/postmaster.pid")
	# other processes may end meanwhile
	{ cat /proc/[0-9]*/stat 2>/dev/null || true; } | sed -E 's/^([0-9]+) \(.*\) /\1 x /' |
		awk -v p="$postmaster" '$1 == p { n += $14 + $15 + $16 + $17 } $4 == p { n += $14 + $15 } END { print n }'
}

# Wait until no client backend is left: then the postmaster has their processor time.
cpu_idle()
{
	until [ "$(sql postgres "select count(*) from pg_stat_activity where backend_type = 'client backend'")" = 1 ]; do
		sleep 0.05
	done
	sleep 0.1
}

# cpu_run DATABASE SECONDS PGBENCH-OPTION...: prints microseconds of processor time per transaction, and transactions per second
cpu_run()
{
	local db=$1 seconds=$2 before after tps

	shift 2
	cpu_idle
	before=$(cpu_used)
	tps=$(pgbench_run "$db" "$@" -c "$CLIENTS" -j "$THREADS" -T "$seconds")
	cpu_idle
	after=$(cpu_used)
	awk -v used=$((after - before)) -v tps="$tps" '/actually processed/ { sub(".*: ", ""); print used * 10000 / $1, tps }' "$RUN/pgbench.log"
}

# sides I: both databases; each comes first in every other pair, as the second one finds what the first has left to be
# written, and less room in shared buffers
sides()
{
	if [ $(($1 % 2)) = 0 ]; then
		echo zheap heap
	else
		echo heap zheap
	fi
}

# cpu_pairs TEXT PAIRS SECONDS PGBENCH-OPTION...: sets time_ratio and rate_ratio, medians of the pairs' ratios; rates tells of each side's
cpu_pairs()
{
	local text=$1 pairs=$2 seconds=$3 i db heap zheap times= speeds=
	local -A got

	shift 3
	for ((i = 0; i <= pairs; i++)); do
		for db in $(sides $i); do
			got[$db]=$(cpu_run $db "$seconds" "$@")
		done
		# the first pair only warms up
		[ $i -gt 0 ] || { rm -f "$RUN"/rate.heap "$RUN"/rate.zheap; continue; }
		heap=(${got[heap]})
		zheap=(${got[zheap]})
		echo "${heap[1]}" >>"$RUN/rate.heap"
		echo "${zheap[1]}" >>"$RUN/rate.zheap"
		times+="$(calc "${zheap[0]} / ${heap[0]}" %.3f) "
		speeds+="$(calc "${zheap[1]} / ${heap[1]}" %.3f) "
		step "$text, pair $i of $pairs: heap ${heap[0]} us, zheap ${zheap[0]} us; tps ${heap[1]}, ${zheap[1]}"
	done
	time_ratio=$(printf '%s\n' $times | median)
	rate_ratio=$(printf '%s\n' $speeds | median)
}

median()
{
	sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# calc EXPRESSION [FORMAT]
calc()
{
	awk "BEGIN { printf(\"${2:-%.2f}\n\", ($1)) }"
}

# ratio A B: A / B, or "-" where B is 0
ratio()
{
	if [ "$(calc "$2 != 0" %d)" = 1 ]; then
		calc "$1 / $2"
	else
		echo -
	fi
}

both_databases()
{
	local db

	for db in heap zheap; do
		drop_database $db
		make_database $db
	done
}

# transactions per client for a total of $1
per_client()
{
	echo $((($1 + CLIENTS - 1) / CLIENTS))
}

# alternate TEXT RUNS SECONDS PGBENCH-OPTION...: prints the median of the rounds' ratios; rates tells of each side's
alternate()
{
	local text=$1 runs=$2 seconds=$3 db i heap zheap ratios=

	shift 3
	rm -f "$RUN"/rate.heap "$RUN"/rate.zheap
	for db in heap zheap; do
		pgbench_run $db "$@" -c "$CLIENTS" -j "$THREADS" -T $((seconds / 4 + 1)) >/dev/null
	done
	for ((i = 1; i <= runs; i++)); do
		for db in $(sides $i); do
			pgbench_run $db "$@" -c "$CLIENTS" -j "$THREADS" -T "$seconds" >>"$RUN/rate.$db"
		done
		heap=$(tail -n 1 "$RUN/rate.heap")
		zheap=$(tail -n 1 "$RUN/rate.zheap")
		ratios+="$(calc "$zheap / $heap" %.3f) "
		step "$text, run $i of $runs: heap $heap, zheap $zheap, ratio $(calc "$zheap / $heap" %.3f)"
	done
	calc "$(printf '%s\n' $ratios | median)" %.3f
}

# heap's and zheap's median transactions per second of the last alternate
rates()
{
	echo "$(median <"$RUN/rate.heap") $(median <"$RUN/rate.zheap")"
}

# bytes of undo that are in use
undo_used()
{
	sql "$1" "select used_bytes from zheap.zheap_undo_stats()"
}
