# processor time of logical decoding, of short transactions and of large ones
#
# Both sides make the same changes, one after the other, each with a slot from just before to just
# after them.  Then a session of each decodes them in turn, by test_decoding, again and again.

default DECODING_SCALE 5 1
default DECODING_TRANSACTIONS 100000 4000
default DECODING_ROWS 300000 10000
default DECODING_PAIRS 9 2

declare -A DECODING_END

task()
{
	local db

	restart_with "alter system set wal_level = logical"
	both_databases
	for db in heap zheap; do
		step "decoding: loading $db, scale $DECODING_SCALE"
		pgbench_init $db "$DECODING_SCALE"
		sql $db "create table large (id int primary key, n int, v text)"
		open_session $db $db
		ask $db "set work_mem = '1GB'; set max_parallel_workers_per_gather = 0"
	done
	decoding_compare "short transactions" decoding_short
	decoding_compare "a load of rows, an update and a deletion of all" decoding_large
	close_sessions
	restart_with "alter system reset wal_level"
}

decoding_short()
{
	pgbench_run "$1" -M prepared -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$DECODING_TRANSACTIONS")" --random-seed=1 \
		-s "$DECODING_SCALE" -D clients="$CLIENTS" -f "$PGBENCH_SCRIPTS/decoding.sql" >/dev/null
}

decoding_large()
{
	sql "$1" "insert into large select i, i, md5(i::text) from generate_series(1, $DECODING_ROWS) i" \
		"update large set n = n + 1" "delete from large"
}

# decoding_compare TEXT LOAD
decoding_compare()
{
	local db i heap zheap ratios= from
	local -A rows

	for db in heap zheap; do
		step "decoding: $1, $db"
		from=$(lsn)
		sql $db "select pg_create_logical_replication_slot('$db', 'test_decoding')" >/dev/null
		"$2" $db
		DECODING_END[$db]=$(lsn)
		note "$db, $1: bytes of WAL" "$(sql postgres "select '${DECODING_END[$db]}'::pg_lsn - '$from'")"
	done
	# the first pair only warms up
	for ((i = 0; i <= DECODING_PAIRS; i++)); do
		heap=$(decoding_used heap)
		rows[heap]=$(said heap)
		zheap=$(decoding_used zheap)
		rows[zheap]=$(said zheap)
		[ $i -gt 0 ] || continue
		ratios+="$(calc "$zheap / $heap" %.3f) "
		step "decoding: $1, pair $i of $DECODING_PAIRS: heap $heap ms, zheap $zheap ms, ratio $(calc "$zheap / $heap" %.3f)"
	done
	note "heap, $1: changes decoded" "${rows[heap]}"
	verdict "$1, changes decoded" "${rows[zheap]}" '==' "${rows[heap]}"
	verdict "$1, processor time, zheap/heap" "$(printf '%s\n' $ratios | median)" '<=' 1.1
	for db in heap zheap; do
		sql $db "select pg_drop_replication_slot('$db')" >/dev/null
	done
}

# of the session, in ms
decoding_used()
{
	local before

	before=$(used "$1")
	ask "$1" "select count(*) filter (where data like 'table %') from pg_logical_slot_peek_changes('$1', '${DECODING_END[$1]}', null)"
	echo $((($(used "$1") - before) * 10))
}
