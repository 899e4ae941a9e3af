# A table without VACUUM, whose writers remove what is dead, compared with autovacuum.  Source it after lib.sh.
#
# A task has novacuum_make TABLE-OPTIONS, which makes the table $NOVACUUM_TABLE in database zheap, and novacuum_load, which
# works on it and prints transactions per second.

# One after the other until the file has gone: what they find is in another file.
novacuum_check()
{
	while [ -e "$RUN/novacuum.run" ]; do
		sql zheap "select bt_index_check(indexrelid, true) from pg_index where indrelid = '$NOVACUUM_TABLE'::regclass" >/dev/null ||
			echo failed >>"$RUN/novacuum.failed"
		sleep 2
	done
}

# novacuum_measure TEXT SETTING AUTOVACUUM: sets rate, table and indexes
novacuum_measure()
{
	local checker

	both_databases
	step "$NOVACUUM_TABLE: $1"
	sql zheap "create extension amcheck" "alter database zheap set zheap.remove_dead_entries = $2"
	novacuum_make "autovacuum_enabled = $3"
	touch "$RUN/novacuum.run"
	novacuum_check &
	checker=$!
	rate=$(novacuum_load)
	rm "$RUN/novacuum.run"
	wait $checker
	table=$(pages zheap "$NOVACUUM_TABLE")
	indexes=$(sql zheap "select sum(pg_relation_size(indexrelid))::bigint / 8192 from pg_index where indrelid = '$NOVACUUM_TABLE'::regclass")
	note "$1: transactions per second; blocks of the table, of its indexes" "$rate $table $indexes"
}

novacuum_compare()
{
	local rate table indexes with_rate with_table with_indexes

	rm -f "$RUN/novacuum.failed"
	novacuum_measure "autovacuum" off on
	with_rate=$rate with_table=$table with_indexes=$indexes
	novacuum_measure "no VACUUM" on off
	note "dead rows that writers have removed, and left to VACUUM" \
		"$(sql zheap "select dead_rows_removed || ' ' || dead_rows_left from zheap.zheap_stat_tables where relname = '$NOVACUUM_TABLE'")"
	verdict "blocks of the table, without VACUUM/with" "$(ratio "$table" "$with_table")" '<=' 1.1
	verdict "blocks of its indexes, without VACUUM/with" "$(ratio "$indexes" "$with_indexes")" '<=' 1.1
	verdict "transactions per second, without VACUUM/with" "$(ratio "$rate" "$with_rate")" '>=' 0.9
	verdict "amcheck of the indexes has failed, times" "$(cat "$RUN"/novacuum.failed 2>/dev/null | wc -l)" '<=' 0
}
