# first scan after a bulk load

default BULK_ROWS 1000000 100000

task()
{
	local db how dirtied records moved file=$RUN/bulk.data

	both_databases
	for db in heap zheap; do
		sql $db "create function first_scan(query text, out dirtied bigint, out wal_records bigint, out moved numeric)
			language plpgsql as \$\$
			declare j json; l pg_lsn := pg_current_wal_insert_lsn();
			begin
				execute 'explain (analyze, buffers, wal, format json) ' || query into j;
				moved := pg_current_wal_insert_lsn() - l;
				dirtied := j->0->'Plan'->>'Shared Dirtied Blocks';
				wal_records := j->0->'Plan'->>'WAL Records';
			end \$\$"
		for how in copy insert; do
			step "bulk: $how into $db"
			sql $db "create table bulk_$how (a int, b int, c text) with (autovacuum_enabled = false)"
			if [ $how = copy ]; then
				sql $db "copy (select i, -i, md5(i::text) from generate_series(1, $BULK_ROWS) i) to '$file.$db'" \
					"copy bulk_copy from '$file.$db'"
			else
				sql $db "insert into bulk_insert select i, -i, md5(i::text) from generate_series(1, $BULK_ROWS) i"
			fi
			sql $db "checkpoint"
			read -r dirtied records moved < <(sql $db "select dirtied || ' ' || wal_records || ' ' || moved
				from first_scan('select count(*) from bulk_$how')")
			if [ $db = heap ]; then
				note "heap, $how: pages dirtied, WAL records" "$dirtied" "$records"
			else
				verdict "$how, first scan: pages dirtied" "$dirtied" '==' 0
				verdict "$how, first scan: WAL records" "$records" '==' 0
				verdict "$how, first scan: bytes that WAL moved on" "$moved" '==' 0
			fi
		done
	done
}
