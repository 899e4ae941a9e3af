# a queue as PGMQ has it: turns per second without and with a snapshot held, over time

default QUEUERATE_RUNS 3 1
default QUEUERATE_SECONDS 20 4
default QUEUERATE_HELD 300 24

task()
{
	local db free held=$QUEUERATE_HELD last first after
	# plans are the server's business, and of both the same: statements are prepared
	local script=(-M prepared -f "$PGBENCH_SCRIPTS/queue_turn.sql")

	both_databases
	sql zheap "alter database zheap set zheap.skip_dead_entries = on"
	for db in heap zheap; do
		queue_make $db
	done
	free=$(alternate "queue, planned each time" 1 "$QUEUERATE_SECONDS" -f "$PGBENCH_SCRIPTS/queue_turn.sql")
	note "statements planned each time, turns per second, zheap/heap" "$free"
	free=$(alternate "queue, turns per second" "$QUEUERATE_RUNS" "$QUEUERATE_SECONDS" "${script[@]}")
	verdict "without a snapshot, turns per second, zheap/heap" "$free" '>=' 1.2
	for db in heap zheap; do
		step "queuerate: $db, snapshot open"
		hold_snapshot $db
		pgbench_run $db "${script[@]}" -c "$CLIENTS" -j "$THREADS" -T "$held" -P 1 >/dev/null
		first=$(rate_between 0 $((held / 30 + 2)))
		last=$(rate_between $((held - held / 5)) "$held")
		release_snapshots
		pgbench_run $db "${script[@]}" -c "$CLIENTS" -j "$THREADS" -T 20 -P 1 >/dev/null
		after=$(rate_between 10 20)
		note "$db, snapshot open: turns per second at first and at last; 10 s after it has ended" "$first $last $after"
	done
	verdict "with a snapshot open, the last fifth of $held s, of the first seconds" "$(ratio "$last" "$first")" '>=' 0.8
	verdict "10 s after the snapshot, of the first seconds" "$(ratio "$after" "$first")" '>=' 0.8
}
