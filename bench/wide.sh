# A table with many indexed columns, and what updates of some of them cost on both sides.  Source it after lib.sh.

# make_wide COLUMNS ROWS: a primary key, and as many columns with an index each
make_wide()
{
	local db i columns= values= indexes=()

	for ((i = 1; i <= $1; i++)); do
		columns+=", c$i int"
		values+=", i * $((i + 2)) % 1000003"
		indexes+=("create index wide_c$i on wide (c$i)")
	done
	for db in heap zheap; do
		sql $db "set client_min_messages = warning" "drop table if exists wide" "create table wide (id int primary key$columns)" \
			"insert into wide select i$values from generate_series(1, $2) i" "${indexes[@]}" "vacuum analyze wide"
	done
}

# wal_per_turn DATABASE TURNS PGBENCH-OPTION...: bytes of records, without images of pages
wal_per_turn()
{
	local db=$1 turns from to

	turns=$(per_client "$2")
	shift 2
	sql postgres "checkpoint"
	pgbench_run "$db" "$@" -c "$CLIENTS" -j "$THREADS" -t "$turns" >/dev/null
	from=$(lsn)
	pgbench_run "$db" "$@" -c "$CLIENTS" -j "$THREADS" -t "$turns" >/dev/null
	to=$(lsn)
	wal_report "$from" "$to" "$RUN/wal.$db"
	calc "$(wal_total "$RUN/wal.$db" record) / ($turns * $CLIENTS)" %.0f
}

# compare_wide TEXT SCRIPT ROWS RUNS SECONDS TURNS: sets TPS_RATIO and WAL_RATIO
compare_wide()
{
	local options=(-f "$PGBENCH_SCRIPTS/$2" -D "rows=$3") heap zheap

	TPS_RATIO=$(alternate "$1" "$4" "$5" "${options[@]}")
	note "$1: tps, heap and zheap" "$(rates)"
	heap=$(wal_per_turn heap "$6" "${options[@]}")
	zheap=$(wal_per_turn zheap "$6" "${options[@]}")
	note "$1: WAL of a transaction, heap and zheap, bytes" "$heap $zheap"
	WAL_RATIO=$(ratio "$zheap" "$heap")
}
