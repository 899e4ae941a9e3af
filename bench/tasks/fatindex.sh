# rows that once changed another indexed column, looked up by a key of 2.3 kB, compressible or not

default FAT_ROWS 10000 500
default FAT_RUNS 3 1
default FAT_SECONDS 20 1

# make_fat DATABASE compressible|incompressible UNIQUE
make_fat()
{
	local tail i fillers=

	case $2 in
		compressible) tail="repeat('abcdefghij', 230)" ;;
		*) tail="(select left(string_agg(translate(encode(sha512(i::text::bytea), 'base64'), E'\\n', ''), ''), 2300) from generate_series(1, 30) i)" ;;
	esac
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		fillers+=", filler$i text default md5(random()::text)"
	done
	tail=$(sql "$1" "select $tail")
	sql "$1" "set client_min_messages = warning" "drop table if exists fat" "drop function if exists fat_key" \
		"create function fat_key(int) returns text immutable language sql as \$\$ select \$1::text || '$tail' \$\$" \
		"create table fat (aid text, bid bigint, abalance bigint$fillers) with (fillfactor = 90)" \
		"insert into fat (aid, bid, abalance) select fat_key(i), i, 0 from generate_series(1, $FAT_ROWS) i" \
		"create $3 index fat_aid on fat (aid)" "create index fat_filler1 on fat (filler1)" "create index fat_filler2 on fat (filler2)" \
		"create index fat_filler3 on fat (filler3)" "create index fat_filler4 on fat (filler4)" \
		"vacuum analyze fat" "update fat set filler1 = 'X' || filler1"
}

task()
{
	local db keys unique text options

	both_databases
	for keys in incompressible compressible; do
		for unique in unique ''; do
			text="$keys keys${unique:+, unique}"
			for db in heap zheap; do
				step "fatindex: $text, loading $db"
				sql $db "alter database $db set enable_seqscan = off" "alter database $db set enable_bitmapscan = off"
				make_fat $db $keys "$unique"
			done
			options=(-M prepared -D "rows=$FAT_ROWS")
			verdict "$text: reads/s, zheap/heap" \
				"$(alternate "$text, reads" "$FAT_RUNS" "$FAT_SECONDS" -f "$PGBENCH_SCRIPTS/fat_read.sql" "${options[@]}")" '>=' 0.98
			note "$text: reads/s, heap and zheap" "$(rates)"
			note "$text: read and update, tps, zheap/heap" \
				"$(alternate "$text, read and update" "$FAT_RUNS" "$FAT_SECONDS" -f "$PGBENCH_SCRIPTS/fat_both.sql" "${options[@]}")"
			note "$text: read and update, tps, heap and zheap" "$(rates)"
		done
	done
	note "rows updated with several keys, of $FAT_ROWS" \
		"$(sql zheap "select updated_several_keys from zheap.zheap_stat_tables where relname = 'fat'")"
}
