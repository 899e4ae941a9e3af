# updates of 1, 3 and 5 of 6 indexed columns: speed, WAL, growth of the indexes that do not change

default INDEXES_ROWS 200000 5000
default INDEXES_RUNS 3 1
default INDEXES_SECONDS 20 2
default INDEXES_TURNS 40000 2000

compare_six()
{
	compare_wide "6 indexed columns, $1 changed" "$2" "$INDEXES_ROWS" "$INDEXES_RUNS" "$INDEXES_SECONDS" "$INDEXES_TURNS"
}

index_pages()
{
	sql "$1" "select sum(pg_relation_size(indexrelid) / 8192) from pg_index where indrelid = 'wide'::regclass and $2"
}

task()
{
	local db before heap zheap others="indexrelid <> 'wide_c1'::regclass"

	both_databases
	make_wide 6 "$INDEXES_ROWS"
	before=$(index_pages zheap "$others")
	heap=$(index_pages heap "$others")
	compare_six 1 indexes_one.sql
	verdict "6 indexed columns, 1 changed: tps, zheap/heap" "$TPS_RATIO" '>=' 1.5
	verdict "6 indexed columns, 1 changed: WAL, zheap/heap" "$WAL_RATIO" '<=' 0.4
	note "heap, pages by which indexes that did not change have grown" $(($(index_pages heap "$others") - heap))
	verdict "pages by which indexes that did not change have grown" $(($(index_pages zheap "$others") - before)) '==' 0
	heap=$(index_pages heap true)
	zheap=$(index_pages zheap true)
	note "pages of all indexes, heap and zheap" "$heap $zheap" "$(ratio "$zheap" "$heap")"
	compare_six 3 indexes_three.sql
	note "6 indexed columns, 3 changed: tps, zheap/heap" "$TPS_RATIO"
	note "6 indexed columns, 3 changed: WAL, zheap/heap" "$WAL_RATIO"
	compare_six 5 indexes_five.sql
	verdict "6 indexed columns, 5 changed: tps, zheap/heap" "$TPS_RATIO" '>=' 0.98
	verdict "6 indexed columns, 5 changed: WAL, zheap/heap" "$WAL_RATIO" '<=' 1
}
