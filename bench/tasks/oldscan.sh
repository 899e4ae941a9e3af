# scans by an old snapshot, with very many newer updates
#
# One transaction, and then many, change each row of the table; the snapshot from before reads all versions that
# they have left.  Judged by the processor time of the session that reads.

default OLDSCAN_ROWS 1000000 100000
default OLDSCAN_SCANS 5 10

task()
{
	local db how
	local -A spent

	both_databases
	for how in "one transaction" "transactions of 100 rows"; do
		for db in heap zheap; do
			step "oldscan: $db, $how"
			sql $db "set client_min_messages = warning" "drop table if exists scanned" "create table scanned (id int primary key, v int not null, filler text)" \
				"insert into scanned select i, 1, repeat('x', 40) from generate_series(1, $OLDSCAN_ROWS) i" "vacuum scanned"
			open_session reader $db
			ask reader "set max_parallel_workers_per_gather = 0; set enable_indexscan = off; set enable_bitmapscan = off; begin isolation level repeatable read; select 1"
			oldscan_update $db "$how"
			spent[$db]=$(oldscan_used)
			[ "$(said reader)" = "$OLDSCAN_ROWS $OLDSCAN_ROWS" ] || die "the old snapshot sees other rows: $(said reader)"
			close_session reader
		done
		note "heap, $how" "${spent[heap]}" ms
		note "zheap, $how" "${spent[zheap]}" ms
		verdict "$how: processor time of a scan, zheap/heap" "$(ratio "${spent[zheap]}" "${spent[heap]}")" '<=' 2.0
	done
}

oldscan_update()
{
	if [ "$2" = "one transaction" ]; then
		sql "$1" "update scanned set v = v + 1"
	else
		sql "$1" "do \$\$ begin for i in 1 .. $OLDSCAN_ROWS by 100 loop update scanned set v = v + 1 where id between i and i + 99; commit; end loop; end \$\$"
	fi
}

# Of a scan, in ms; the first one is not counted.
oldscan_used()
{
	local before after i

	ask reader "select count(*), sum(v) from scanned"
	before=$(used reader)
	for ((i = 0; i < OLDSCAN_SCANS; i++)); do
		ask reader "select count(*), sum(v) from scanned"
	done
	after=$(used reader)
	calc "($after - $before) * 10 / $OLDSCAN_SCANS" %.1f
}
