# rows that come and go, in a table with B-trees: its size without VACUUM, compared with autovacuum's

default NOVACUUM_ROWS 100000 5000
default NOVACUUM_SECONDS 600 6

# One after the other until the file has gone: what they find is in another file.
novacuum_check()
{
	while [ -e "$RUN/novacuum.run" ]; do
		sql zheap "select bt_index_check(indexrelid, true) from pg_index where indrelid = 'items'::regclass" >/dev/null ||
			echo failed >>"$RUN/novacuum.failed"
		sleep 2
	done
}

# novacuum_measure TEXT SETTING AUTOVACUUM: sets rate, table and indexes
novacuum_measure()
{
	local checker

	both_databases
	step "novacuum: $1"
	sql zheap "create extension amcheck" "alter database zheap set zheap.remove_dead_entries = $2" \
		"create table items (id int primary key, key int, note text, amount int, filler text) with (autovacuum_enabled = $3)" \
		"create index items_key on items (key)" "create index items_note on items (note, id desc)" \
		"insert into items select 2 * i, i, 'item ' || i % 1000, 0, repeat('f', 20 + i % 60) from generate_series(1, $NOVACUUM_ROWS) i"
	touch "$RUN/novacuum.run"
	novacuum_check &
	checker=$!
	rate=$(pgbench_run zheap -M prepared -f "$PGBENCH_SCRIPTS/novacuum.sql" -D rows="$NOVACUUM_ROWS" -c "$CLIENTS" -j "$THREADS" -T "$NOVACUUM_SECONDS")
	rm "$RUN/novacuum.run"
	wait $checker
	table=$(pages zheap items)
	indexes=$(sql zheap "select sum(pg_relation_size(indexrelid))::bigint / 8192 from pg_index where indrelid = 'items'::regclass")
	note "$1: transactions per second; blocks of the table, of its indexes" "$rate $table $indexes"
}

task()
{
	local rate table indexes with_rate with_table with_indexes

	rm -f "$RUN/novacuum.failed"
	novacuum_measure "autovacuum" off on
	with_rate=$rate with_table=$table with_indexes=$indexes
	novacuum_measure "no VACUUM" on off
	note "dead rows that writers have removed, and left to VACUUM" \
		"$(sql zheap "select dead_rows_removed || ' ' || dead_rows_left from zheap.zheap_stat_tables where relname = 'items'")"
	verdict "blocks of the table, without VACUUM/with" "$(ratio "$table" "$with_table")" '<=' 1.1
	verdict "blocks of its indexes, without VACUUM/with" "$(ratio "$indexes" "$with_indexes")" '<=' 1.1
	verdict "transactions per second, without VACUUM/with" "$(ratio "$rate" "$with_rate")" '>=' 0.9
	verdict "amcheck of the indexes has failed, times" "$(cat "$RUN"/novacuum.failed 2>/dev/null | wc -l)" '<=' 0
}
