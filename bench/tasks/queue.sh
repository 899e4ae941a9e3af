# a queue table while a snapshot is held open: growth, and after it

default QUEUE_TURNS 20000 2000

task()
{
	local db i before after later
	local -A grown

	both_databases
	for db in heap zheap; do
		step "queue: $db"
		sql $db "create table queue (id int primary key, filler text) with (autovacuum_enabled = false)" \
			"insert into queue select i, repeat('q', 100) from generate_series(1, 20) i"
		hold_snapshot $db
		before=$(pages $db queue)
		pgbench_run $db -f "$PGBENCH_SCRIPTS/queue.sql" -D n=0 -c 1 -t "$QUEUE_TURNS" >/dev/null
		after=$(pages $db queue)
		release_snapshots
		grown[$db]=$((after - before))
		note "$db: growth, pages" "${grown[$db]}"
		sql $db "vacuum queue"
		before=$(pages $db queue)
		pgbench_run $db -f "$PGBENCH_SCRIPTS/queue.sql" -D n="$QUEUE_TURNS" -c 1 -t "$QUEUE_TURNS" >/dev/null
		later=$(($(pages $db queue) - before))
		note "$db: after VACUUM, pages and growth by as many turns" "$before" "$later"
	done
	verdict "growth with a snapshot open, zheap/heap" "$(ratio "${grown[zheap]}" "${grown[heap]}")" '<=' 0.3
	verdict "growth after the snapshot and VACUUM, pages" "$later" '<=' 0
}
