# transactions that all roll back: speed, WAL; a scan after a large one

default ABORTS_SCALE 10 1
default ABORTS_RUNS 3 1
default ABORTS_SECONDS 15 2
default ABORTS_ROWS 1000000 50000
default ABORTS_TRANSACTIONS 40000 4000

task()
{
	local db ratio from transactions normal after
	local -A bytes

	both_databases
	transactions=$(($(per_client "$ABORTS_TRANSACTIONS") * CLIENTS))
	for db in heap zheap; do
		step "aborts: $db"
		pgbench_init $db "$ABORTS_SCALE"
		pgbench_run $db -f "$PGBENCH_SCRIPTS/rollback.sql" -c "$CLIENTS" -j "$THREADS" -t 500 >/dev/null
		sql postgres "checkpoint"
		from=$(lsn)
		pgbench_run $db -f "$PGBENCH_SCRIPTS/rollback.sql" -c "$CLIENTS" -j "$THREADS" \
			-t "$(per_client "$ABORTS_TRANSACTIONS")" >/dev/null
		sleep 2
		sql postgres "select txid_current()" >/dev/null
		wal_report "$from" "$(lsn)" "$RUN/wal.$db"
		bytes[$db]=$(calc "$(wal_total "$RUN/wal.$db" record) / $transactions" %.1f)
		note "$db, with page images" \
			"$(calc "($(wal_total "$RUN/wal.$db" record) + $(wal_total "$RUN/wal.$db" image)) / $transactions" %.1f)" B
	done
	note "heap, WAL bytes per transaction" "${bytes[heap]}"
	verdict "zheap, WAL bytes per transaction" "${bytes[zheap]}" '<=' "${bytes[heap]}"
	ratio=$(alternate "rollbacks" "$ABORTS_RUNS" "$ABORTS_SECONDS" -f "$PGBENCH_SCRIPTS/rollback.sql")
	verdict "rollbacks, transactions/s, zheap/heap" "$ratio" '>=' 0.95

	step "aborts: a scan after a large one"
	sql zheap "create table big (id int primary key, v int not null, filler text)" \
		"insert into big select i, 1, repeat('x', 40) from generate_series(1, $ABORTS_ROWS) i" "checkpoint"
	normal=$(scan_ms zheap big 5)
	sql zheap "begin" "update big set v = v + 1" "rollback"
	after=$(scan_ms zheap big 1)
	verdict "first scan after a rollback of $ABORTS_ROWS rows / normal" "$(ratio "$after" "$normal")" '<=' 1.3
}

# scan_ms DATABASE TABLE: median of five scans
scan_ms()
{
	sql "$1" "set max_parallel_workers_per_gather = 0" \
		"create or replace function scan_ms() returns float8 language plpgsql as \$\$
		declare started timestamptz := clock_timestamp();
		begin
			perform count(*) from $2 where v is null;
			return 1000 * extract(epoch from clock_timestamp() - started);
		end \$\$" \
		"select scan_ms() from generate_series(1, $3)" | grep -v '^[A-Z]' | median
}
