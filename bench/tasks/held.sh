# pgbench -N while a snapshot is held open: growth, speed, undo

default HELD_SCALE 20 2
default HELD_RUNS 3 1
default HELD_SECONDS 20 3

task()
{
	local db ratio accounts pkey used n started first=0

	both_databases
	for db in heap zheap; do
		step "held: loading $db"
		pgbench_init $db "$HELD_SCALE"
		pgbench_run $db -N -c "$CLIENTS" -j "$THREADS" -T 2 >/dev/null
	done
	accounts=$(pages zheap pgbench_accounts)
	pkey=$(pages zheap pgbench_accounts_pkey)
	note "heap, pages of accounts" "$(pages heap pgbench_accounts)"
	hold_snapshot heap
	hold_snapshot zheap
	first=$(sql zheap "select sum(n_tup_upd) from pg_stat_user_tables")
	used=$(undo_used zheap)
	ratio=$(alternate "pgbench -N, snapshot open" "$HELD_RUNS" "$HELD_SECONDS" -N)
	verdict "pgbench -N with a snapshot open, tps, zheap/heap" "$ratio" '>=' 1
	verdict "growth of accounts, pages" $(($(pages zheap pgbench_accounts) - accounts)) '==' 0
	verdict "growth of its primary key, pages" $(($(pages zheap pgbench_accounts_pkey) - pkey)) '==' 0
	note "heap, pages of accounts now" "$(pages heap pgbench_accounts)"
	sleep 1
	n=$(($(sql zheap "select sum(n_tup_upd) from pg_stat_user_tables") - first))
	verdict "undo per transaction (an update and an insert), bytes" \
		"$(calc "($(undo_used zheap) - $used) / $n" %.1f)" '<=' 64
	release_snapshots
	started=$SECONDS
	while [ "$(undo_used zheap)" -gt $((used + 1048576)) ] && [ $((SECONDS - started)) -lt 30 ]; do
		sleep 0.5
	done
	verdict "undo discarded after the snapshot, s" $((SECONDS - started)) '<=' 10
}
