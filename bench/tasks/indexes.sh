# updates of some of many indexed columns: speed, WAL, growth of the indexes that do not change

default INDEXES_ROWS 200000 5000
default INDEXES_RUNS 3 1
default INDEXES_SECONDS 20 4
default INDEXES_TURNS 40000 4000

# make_wide COLUMNS
make_wide()
{
	local db i columns= values= indexes=()

	for ((i = 1; i <= $1; i++)); do
		columns+=", c$i int"
		values+=", i * $((i + 2)) % 1000003"
		indexes+=("create index wide_c$i on wide (c$i)")
	done
	for db in heap zheap; do
		sql $db "drop table if exists wide" "create table wide (id int primary key$columns)" \
			"insert into wide select i$values from generate_series(1, $INDEXES_ROWS) i" "${indexes[@]}" "vacuum analyze wide"
	done
}

# wal_per_turn DATABASE SCRIPT: bytes of records, without images of pages
wal_per_turn()
{
	local from to

	sql postgres "checkpoint"
	pgbench_run "$1" -f "$2" -D rows="$INDEXES_ROWS" -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$INDEXES_TURNS")" >/dev/null
	from=$(lsn)
	pgbench_run "$1" -f "$2" -D rows="$INDEXES_ROWS" -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$INDEXES_TURNS")" >/dev/null
	to=$(lsn)
	wal_report "$from" "$to" "$RUN/wal.$1"
	calc "$(wal_total "$RUN/wal.$1" record) / ($(per_client "$INDEXES_TURNS") * $CLIENTS)" %.0f
}

# compare TEXT SCRIPT TPS-TARGET WAL-TARGET
compare()
{
	local script=$PGBENCH_SCRIPTS/$2 heap zheap

	verdict "$1: tps, zheap/heap" "$(alternate "$1" "$INDEXES_RUNS" "$INDEXES_SECONDS" -f "$script" -D rows="$INDEXES_ROWS")" '>=' "$3"
	heap=$(wal_per_turn heap "$script")
	zheap=$(wal_per_turn zheap "$script")
	note "$1: WAL of a transaction, heap and zheap, bytes" "$heap $zheap"
	verdict "$1: WAL, zheap/heap" "$(ratio "$zheap" "$heap")" '<=' "$4"
}

task()
{
	local others="select sum(pg_relation_size(indexrelid) / 8192) from pg_index where indrelid = 'wide'::regclass and indexrelid <> 'wide_c1'::regclass"
	local before

	both_databases
	make_wide 6
	before=$(sql zheap "$others")
	compare "6 indexed columns, 1 changed" indexes_one.sql 1.5 0.4
	verdict "pages by which indexes that did not change have grown" $(($(sql zheap "$others") - before)) '==' 0
	note "heap, pages of all indexes" "$(sql heap "select pg_indexes_size('wide') / 8192")"
	note "zheap, pages of all indexes" "$(sql zheap "select pg_indexes_size('wide') / 8192")"
	compare "6 indexed columns, 5 changed" indexes_five.sql 0.98 1
	make_wide 64
	compare "64 indexed columns, 1 changed" indexes_one.sql 2.2 0.15
}
