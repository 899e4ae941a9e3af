# instructions of logical decoding, which do not depend on the machine's mood
#
# Both sides make the same changes, each kind with a slot from just before to just after them.  Then
# backends of their own decode them by test_decoding under callgrind; what an empty query takes is
# taken off.

default COUNTED_ROWS 20000 2000

task()
{
	local db kind counted total_heap=0 total_zheap=0
	local -A end idle

	ensure_packages $COUNT_PACKAGES
	restart_with "alter system set wal_level = logical"
	both_databases
	for db in heap zheap; do
		sql $db "create table large (id int primary key, n int, v text)"
		for kind in insert update delete; do
			sql $db "select pg_create_logical_replication_slot('${db}_$kind', 'test_decoding')" >/dev/null
			sql $db "$(decoding_count_change $kind)"
			end[${db}_$kind]=$(lsn)
		done
	done
	sql postgres checkpoint
	cluster_stop
	for db in heap zheap; do
		idle[$db]=$(decoding_count $db "select 1 as count" 1)
	done
	for kind in insert update delete; do
		for db in heap zheap; do
			step "decoding_count: $kind, $db"
			local -n total=total_$db
			counted=$(decoding_count $db "select count(*) filter (where data like 'table %') from pg_logical_slot_peek_changes('${db}_$kind', '${end[${db}_$kind]}', null)" "$COUNTED_ROWS")
			counted=$((counted - idle[$db]))
			note "$db, $kind of a row: instructions" $((counted / COUNTED_ROWS))
			total=$((total + counted))
		done
	done
	verdict "instructions of all, zheap/heap" "$(calc "$total_zheap / $total_heap" %.3f)" '<=' 1.1
	quietly as_owner "$BINDIR/pg_ctl" -D "$CLUSTER" -l "$CLUSTER.log" -w -t 120 start
	sql postgres "select pg_drop_replication_slot(slot_name) from pg_replication_slots" >/dev/null
	restart_with "alter system reset wal_level"
}

decoding_count_change()
{
	case $1 in
		insert) echo "insert into large select i, i, md5(i::text) from generate_series(1, $COUNTED_ROWS) i" ;;
		update) echo "update large set n = n + 1" ;;
		delete) echo "delete from large" ;;
	esac
}

# decoding_count DATABASE QUERY COUNT: instructions of a backend that does nothing else; the query
# is to give this count
decoding_count()
{
	local log=$RUN/decoding_count.log

	as_owner valgrind --tool=callgrind --callgrind-out-file=/dev/null "$BINDIR/postgres" --single -D "$CLUSTER" "$1" <<<"$2" >"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; die "the backend failed"; }
	grep -q "count = \"$3\"" "$log" || { tail -n 20 "$log" >&2; die "not $3 changes"; }
	sed -nE 's/.*Collected : ([0-9]+).*/\1/p' "$log"
}
