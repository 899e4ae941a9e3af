# index-only scans after VACUUM
#
# The time of a scan, the least of several, heap and zheap in turn, and the table pages that it fetched.

default INDEXONLY_KEYS 200000 20000
default INDEXONLY_RUNS 21 3

# Milliseconds, and visits to the table, of one scan.
indexonly_scan()
{
	sql "$1" "set max_parallel_workers_per_gather = 0; set enable_seqscan = off; set enable_bitmapscan = off; set jit = off;
		explain (analyze, timing off) select count(id) from keys where id > 0" |
		awk '/Heap Fetches:/ { fetches = $NF } /Execution Time:/ { ms = $(NF - 1) } END { print ms, fetches == "" ? -1 : fetches }'
}

task()
{
	local db i ms fetches
	local -A least visits

	both_databases
	for db in heap zheap; do
		step "indexonly: loading $db"
		sql $db "create table keys (id int primary key, n int, pad text) with (autovacuum_enabled = off)" \
			"insert into keys select i, i, repeat('k', 50) from generate_series(1, $INDEXONLY_KEYS) i" \
			"vacuum analyze keys"
		least[$db]=1000000000 visits[$db]=0
	done
	for ((i = 0; i < INDEXONLY_RUNS; i++)); do
		for db in heap zheap; do
			read -r ms fetches < <(indexonly_scan $db)
			[ "$(calc "$ms < ${least[$db]}" %d)" = 0 ] || least[$db]=$ms
			[ "$fetches" = 0 ] || visits[$db]=$fetches
		done
	done
	note "least time of a scan, heap and zheap" "${least[heap]} ${least[zheap]}" ms
	verdict "time of an index-only scan, zheap/heap" "$(ratio "${least[zheap]}" "${least[heap]}")" '<=' 1.05
	verdict "visits to the table" "${visits[zheap]}" '<=' 0
}
