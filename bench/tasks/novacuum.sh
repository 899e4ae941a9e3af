# rows that come and go, in a table with B-trees: its size without VACUUM, compared with autovacuum's

default NOVACUUM_ROWS 100000 5000
default NOVACUUM_SECONDS 600 6

novacuum_make()
{
	sql zheap "create table items (id int primary key, key int, note text, amount int, filler text) with ($1)" \
		"create index items_key on items (key)" "create index items_note on items (note, id desc)" \
		"insert into items select 2 * i, i, 'item ' || i % 1000, 0, repeat('f', 20 + i % 60) from generate_series(1, $NOVACUUM_ROWS) i"
}

novacuum_load()
{
	pgbench_run zheap -M prepared -f "$PGBENCH_SCRIPTS/novacuum.sql" -D rows="$NOVACUUM_ROWS" -c "$CLIENTS" -j "$THREADS" -T "$NOVACUUM_SECONDS"
}

task()
{
	local NOVACUUM_TABLE=items

	novacuum_compare
}
