# WAL of an update that moves the row, without page images and indexes
#
# A row in a hundred is updated, so each page loses one, and with it nothing else happens to
# the page.  All pages are newer than the last checkpoint: no record is shortened by an image.

default MOVED_ROWS 200000 20000

# FILE: bytes in records about tables
moved_bytes()
{
	wal_rows "$1" | awk '$1 ~ /^(Heap|custom)/ { sum += $3 } END { print sum + 0 }'
}

# DATABASE NAME FILLFACTOR SQL: bytes of WAL for each row that it moves
moved_wal()
{
	local db=$1 file=$RUN/moved.$1 from to moves=$((MOVED_ROWS / 100))

	sql $db "drop table if exists moved" \
		"create table moved (id int primary key, k int, v text) with (fillfactor = $3, autovacuum_enabled = off)" \
		"create index on moved (k)" \
		"insert into moved select i, i, repeat(md5(i::text), 3) from generate_series(1, $MOVED_ROWS) i" \
		"vacuum freeze moved"
	[ "$db" = heap ] || sql $db "alter database zheap set zheap.max_changed_indexes = 0"
	# so that the rows are visible to all, and WAL knows it
	[ "$db" = heap ] || sql $db "vacuum zheap.undo"
	from=$(sql postgres "select pg_current_wal_insert_lsn()")
	sql $db "$4"
	to=$(lsn)
	wal_report "$from" "$to" "$file"
	wal_rows "$file" | grep -E '^(Heap|custom)' |
		awk -v name="$2, $db" -v n=$moves '{ printf "      %-44s %-24s %6.3f records of %6.1f B\n", name, $1, $2 / n, $3 / $2 }' >&2
	calc "$(moved_bytes "$file") / $moves" %.1f
}

# NAME FILLFACTOR SQL
moved_compare()
{
	local heap zheap

	heap=$(moved_wal heap "$@")
	zheap=$(moved_wal zheap "$@")
	note "$1, heap, bytes" "$heap"
	verdict "$1, zheap, bytes" "$zheap" '<=' "$heap"
}

task()
{
	local one="do \$\$ begin for i in 1 .. $MOVED_ROWS / 100 loop update moved set k = -k where id = i * 100; commit; end loop; end \$\$"
	local all="update moved set k = -k where id % 100 = 0"

	both_databases
	sql postgres "checkpoint"
	moved_compare "to another page, each in a transaction" 100 "$one"
	moved_compare "to another page, all in a statement" 100 "$all"
	moved_compare "on the page, each in a transaction" 50 "$one"
	moved_compare "on the page, all in a statement" 50 "$all"
}
