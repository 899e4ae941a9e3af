# updates of columns without an index at fillfactor 90, and TPC-B: by how many blocks each table and index grows

default GROWTH_SCALE 20 1
default GROWTH_TRANSACTIONS 1000000 10000
default GROWTH_FILLFACTOR 90 90

growth_relations()
{
	echo pgbench_accounts pgbench_accounts_pkey pgbench_tellers pgbench_tellers_pkey pgbench_branches pgbench_branches_pkey
}

# growth_measure TEXT PGBENCH-OPTION...
growth_measure()
{
	local text=$1 db relation grown
	local -A before tps after undo

	shift
	both_databases
	for db in heap zheap; do
		step "growth: $text, $db"
		quietly as_owner "$BINDIR/pgbench" -i -q -s "$GROWTH_SCALE" -F "$GROWTH_FILLFACTOR" "$db" || die "pgbench -i failed in $db"
		for relation in $(growth_relations); do
			before[$db.$relation]=$(pages $db $relation)
		done
		# the same number on both sides, so that growth can be compared
		tps[$db]=$(pgbench_run $db "$@" -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$GROWTH_TRANSACTIONS")")
		for relation in $(growth_relations); do
			after[$db.$relation]=$(pages $db $relation)
		done
	done
	note "$text: tps, heap and zheap" "${tps[heap]} ${tps[zheap]}" "$(ratio "${tps[zheap]}" "${tps[heap]}")"
	for relation in $(growth_relations); do
		grown=
		for db in heap zheap; do
			grown+="${before[$db.$relation]}+$((after[$db.$relation] - before[$db.$relation])) "
		done
		note "$text: $relation, blocks, heap and zheap" "$grown" "$(ratio "${after[zheap.$relation]}" "${after[heap.$relation]}")"
	done
	note "$text: undo relation, blocks" $(($(undo_bytes zheap) / 8192))
}

task()
{
	growth_measure "accounts and history" -f "$PGBENCH_SCRIPTS/hot_accounts.sql" -D "scale=$GROWTH_SCALE"
	growth_measure "TPC-B" -M simple
}
