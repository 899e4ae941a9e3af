# hundreds of sessions that update rows of a few pages; one beside hundreds of idle ones

default CROWD_CLIENTS 300 100
default CROWD_IDLE 240 100
default CROWD_RUNS 3 1
default CROWD_SECONDS 10 2

task()
{
	local db ratio i n pid
	local -A tps

	both_databases
	for db in heap zheap; do
		sql $db "create table crowd (id int primary key, n int)" "insert into crowd select i, 0 from generate_series(1, 1000) i"
	done
	ratio=$(CLIENTS=$CROWD_CLIENTS alternate "$CROWD_CLIENTS clients" "$CROWD_RUNS" "$CROWD_SECONDS" \
		-M prepared -f "$PGBENCH_SCRIPTS/crowd.sql")
	verdict "$CROWD_CLIENTS clients, 1000 rows, transactions/s, zheap/heap" "$ratio" '>=' 0.9

	for db in heap zheap; do
		sql $db "truncate crowd" "insert into crowd select i, 0 from generate_series(1, 280) i"
		for i in 1 "$CROWD_IDLE"; do
			step "crowd: $db, beside $i idle"
			open_session gate $db
			ask gate "select pg_advisory_lock(1)"
			as_owner "$BINDIR/pgbench" -n -c "$i" -t 1 -f "$PGBENCH_SCRIPTS/idle.sql" $db >"$RUN/idle.log" 2>&1 &
			pid=$!
			until [ "$(sql $db "select count(*) from pg_stat_activity where wait_event = 'advisory' and datname = '$db'")" = "$i" ]; do
				kill -0 $pid 2>/dev/null || { cat "$RUN/idle.log" >&2; die "idle sessions failed"; }
				sleep 0.1
			done
			for n in 1 8; do
				tps[$db.$i.$n]=$(pgbench_run $db -M prepared -f "$PGBENCH_SCRIPTS/awake.sql" -c $n -j "$THREADS" -T "$CROWD_SECONDS")
				note "$db, $n clients beside $i idle ones" "${tps[$db.$i.$n]}" "transactions/s"
			done
			close_sessions
			wait $pid || die "idle sessions failed"
		done
	done
	for n in 1 8; do
		verdict "$n clients beside $CROWD_IDLE idle ones, zheap/heap" \
			"$(calc "${tps[zheap.$CROWD_IDLE.$n]} / ${tps[heap.$CROWD_IDLE.$n]}" %.3f)" '>=' 0.9
	done
}
