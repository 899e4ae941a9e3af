# the Insert Benchmark in small: batches of insertions, then deletions of as many of the oldest rows beside them

default INSERTBENCH_CLIENTS 1 1
default INSERTBENCH_ROWS 400000 5000
default INSERTBENCH_RUNS 4 1
default INSERTBENCH_SECONDS 10 2
# turns whose WAL is measured
default INSERTBENCH_TURNS 4000 100

# insertbench_tables STATEMENT: once for each client's table, whose name is T in it
insertbench_tables()
{
	local db i

	for db in heap zheap; do
		for ((i = 0; i < CLIENTS; i++)); do
			sql $db "${1//T/purchases$i}"
		done
	done
}

insertbench_pages()
{
	sql "$1" "select sum(pg_table_size(oid) + pg_indexes_size(oid))::bigint / 8192 from pg_class where relname like 'purchases%' and relkind = 'r'"
}

# WAL of as many turns, and of VACUUM after them; insertbench_wal DATABASE TURNS PGBENCH-OPTION...: sets wal
insertbench_wal()
{
	local db=$1 turns=$2 from i

	shift 2
	for ((i = 0; i < CLIENTS; i++)); do
		sql "$db" "vacuum purchases$i"
	done
	from=$(lsn)
	pgbench_run "$db" "$@" -c "$CLIENTS" -j "$THREADS" -t "$turns" >/dev/null
	for ((i = 0; i < CLIENTS; i++)); do
		sql "$db" "vacuum purchases$i"
	done
	wal_report "$from" "$(lsn)" "$RUN/wal.$db"
	wal=$(wal_total "$RUN/wal.$db" record)
}

insertbench_removed()
{
	sql zheap "select coalesce(sum($1), 0) from zheap.zheap_stat_tables where relname like 'purchases%'"
}

# number of WAL records of a type that zheap has written
wal_records()
{
	wal_rows "$RUN/wal.zheap" | awk -v type="$1" '$1 == type { n = $2 } END { print n + 0 }'
}

# insertbench_step TEXT ROWS DELETE
insertbench_step()
{
	local text=$1 options=(-f "$PGBENCH_SCRIPTS/insertbench.sql" -D "rows=$2" -D "delete=$3") time_ratio rate_ratio wal heap entries leaves

	cpu_pairs "$text" "$INSERTBENCH_RUNS" "$INSERTBENCH_SECONDS" "${options[@]}"
	note "$text: tps, heap and zheap" "$(rates)"
	insertbench_wal heap $((INSERTBENCH_TURNS * 50 / $2)) "${options[@]}"
	heap=$wal
	entries=$(insertbench_removed dead_entries_removed)
	leaves=$(insertbench_removed dead_leaves_visited)
	insertbench_wal zheap $((INSERTBENCH_TURNS * 50 / $2)) "${options[@]}"
	entries=$(($(insertbench_removed dead_entries_removed) - entries))
	leaves=$(($(insertbench_removed dead_leaves_visited) - leaves))
	note "$text: WAL, heap and zheap, bytes" "$heap $wal"
	note "$text: entries removed by writers" "$entries"
	note "$text: leaves visited for each, WAL records" "$(ratio "$leaves" "$entries") $(ratio "$(wal_records Btree/DELETE)" "$entries")"
	# tps with one client is the machine's as much as the server's: most of the time passes while either waits for a processor
	note "$text: processor time per transaction, zheap/heap" "$time_ratio"
	verdict "$text: tps, zheap/heap" "$rate_ratio" '>=' 1.05
	verdict "$text: WAL, zheap/heap" "$(ratio "$wal" "$heap")" '<=' 1
}

task()
{
	local CLIENTS=$INSERTBENCH_CLIENTS heap zheap

	both_databases
	insertbench_tables "create table T (transactionid bigserial primary key, dateandtime timestamp, cashregisterid int not null, customerid int not null,
			productid int not null, price int not null, data varchar(4000))"
	insertbench_step "50 rows come, only a primary key" 50 0
	# both sides go on with as many rows
	insertbench_tables "truncate T"
	insertbench_tables "insert into T (dateandtime, cashregisterid, customerid, productid, price, data)
			select clock_timestamp()::timestamp, (random() * 1000)::int, (random() * 100000)::int, (random() * 10000)::int, (random() * 500)::int, 'abcdefghij'
			from generate_series(1, $INSERTBENCH_ROWS)"
	insertbench_tables "create index T_market on T (price, customerid)"
	insertbench_tables "create index T_register on T (cashregisterid, price, customerid)"
	insertbench_tables "create index T_date on T (price, dateandtime, customerid)"
	insertbench_tables "vacuum analyze T"
	insertbench_step "50 rows come, 50 go" 50 1
	insertbench_step "5 rows come, 5 go" 5 1
	heap=$(insertbench_pages heap)
	zheap=$(insertbench_pages zheap)
	note "pages of tables and indexes at the end, heap and zheap" "$heap $zheap"
	verdict "size at the end, zheap/heap" "$(ratio "$zheap" "$heap")" '<=' 0.85
}
