# pages after loading; growth after simple updates

default SIZES_SCALE 20 2
default SIZES_UPDATES 300000 10000
default SIZES_NARROW_ROWS 2000000 100000

task()
{
	local db accounts pkey heap zheap narrow_heap narrow_zheap

	both_databases
	for db in heap zheap; do
		step "sizes: loading $db"
		pgbench_init $db "$SIZES_SCALE"
		sql $db "create table narrow (a int, b int, c text)" \
			"insert into narrow select i, -i, lpad(to_hex(i), 8, '0') from generate_series(1, $SIZES_NARROW_ROWS) i"
	done
	heap=$(pages heap pgbench_accounts)
	accounts=$(pages zheap pgbench_accounts)
	narrow_heap=$(pages heap narrow)
	narrow_zheap=$(pages zheap narrow)
	note "pgbench_accounts, pages" "$accounts" "heap $heap"
	verdict "pgbench_accounts, pages, zheap/heap" "$(calc "$accounts / $heap" %.3f)" '<=' 0.81
	note "narrow table, pages" "$narrow_zheap" "heap $narrow_heap"
	verdict "narrow table, pages, zheap/heap" "$(calc "$narrow_zheap / $narrow_heap" %.3f)" '<=' 0.56

	pkey=$(pages zheap pgbench_accounts_pkey)
	step "sizes: $SIZES_UPDATES simple updates"
	pgbench_run zheap -N -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$SIZES_UPDATES")" >/dev/null
	verdict "growth of accounts after $SIZES_UPDATES updates" \
		$(($(pages zheap pgbench_accounts) - accounts)) '==' 0 pages
	verdict "growth of its primary key" \
		$(($(pages zheap pgbench_accounts_pkey) - pkey)) '==' 0 pages
	note "undo relation, kB" $(($(undo_bytes zheap) / 1024))
}
