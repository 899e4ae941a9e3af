# TPC-B like, prepared, small and larger scale; deadlocks, growth

default TPCB_SCALES "1 20" "1 2"
default TPCB_RUNS 3 2
default TPCB_SECONDS 20 2

task()
{
	local db ratio scale branches tellers deadlocks

	for scale in $TPCB_SCALES; do
		both_databases
		for db in heap zheap; do
			step "tpcb: loading $db, scale $scale"
			pgbench_init $db "$scale"
		done
		branches=$(pages zheap pgbench_branches)
		tellers=$(pages zheap pgbench_tellers)
		deadlocks=$(count_deadlocks)
		ratio=$(alternate "scale $scale" "$TPCB_RUNS" "$TPCB_SECONDS" -M prepared)
		verdict "scale $scale, transactions/s, zheap/heap" "$ratio" '>=' 0.9
		verdict "scale $scale, deadlocks" $(($(count_deadlocks) - deadlocks)) '==' 0
		verdict "scale $scale, growth of pgbench_branches" $(($(pages zheap pgbench_branches) - branches)) '<=' 4 pages
		verdict "scale $scale, growth of pgbench_tellers" $(($(pages zheap pgbench_tellers) - tellers)) '<=' 4 pages
		verdict "scale $scale, balances that do not add up" "$(sql zheap "
			select count(distinct s) - 1 from (select sum(abalance) s from pgbench_accounts
			union all select sum(tbalance) from pgbench_tellers
			union all select sum(bbalance) from pgbench_branches
			union all select sum(delta) from pgbench_history) t")" '==' 0
		note "heap's growth of pgbench_branches at scale $scale" "$(pages heap pgbench_branches)" "pages in all"
	done
}

count_deadlocks()
{
	grep -c 'deadlock detected' "$CLUSTER.log" || true
}
