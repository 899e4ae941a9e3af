# tables larger than shared buffers, read with nothing of them in the kernel's cache, heap and zheap in turn
#
# Sequential and bitmap scans, ANALYZE and VACUUM.  Measures the time of each, and the processor time
# of all server processes, as since PostgreSQL 18 I/O workers read for backends (io_method = worker).

default COLD_MB 400 16
default COLD_PAIRS 7 2
default COLD_KINDS "count bitmap analyze vacuum vacuum-all" "count bitmap analyze vacuum vacuum-all"

declare -A COLD_SQL=(
	[count]="set enable_indexonlyscan = off; select count(*) from cold"
	[bitmap]="set enable_seqscan = off; set enable_indexscan = off; select sum(length(pad)) from cold where k < 30"
	[analyze]="set default_statistics_target = 20; analyze cold"
	[vacuum]="vacuum (truncate off, index_cleanup on) cold"
	[vacuum-all]="vacuum (disable_page_skipping, truncate off) cold"
)

# Write the database's files, and drop them from the kernel's cache.
cold_drop()
{
	sql postgres checkpoint
	python3 - "$CLUSTER"/base/"$(sql "$1" "select oid from pg_database where datname = current_database()")"/* <<-'PY'
	import os, sys
	for path in sys.argv[1:]:
	    fd = os.open(path, os.O_RDONLY)
	    os.fsync(fd)
	    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
	    os.close(fd)
	PY
}

# At most 100 rows in a page of 8 kB; k picks one row in 1,000, all over the table.
cold_load()
{
	sql "$1" "create table cold (id int, k int, pad text) with (autovacuum_enabled = off)" \
		"insert into cold select g, g * 7919::bigint % 1000, repeat('x', 200) from generate_series(1, $((COLD_MB * 4096))) g" \
		"create index on cold (k)" "vacuum analyze cold"
}

# cold_run DATABASE KIND ROUND: prints milliseconds, and processor time in 1/100 s
cold_run()
{
	local before after ms

	[ "$2" != vacuum ] || sql "$1" "delete from cold where id % 40 = $3"
	cold_drop "$1"
	cpu_idle
	before=$(cpu_used)
	ms=$({ echo "set max_parallel_workers_per_gather = 0; set jit = off;"; echo '\timing on'; echo "${COLD_SQL[$2]};"; } |
		as_owner "$BINDIR/psql" -X -qAt -v ON_ERROR_STOP=1 -d "$1" | awk '/^Time:/ { n += $2 } END { print n }')
	cpu_idle
	after=$(cpu_used)
	echo "$ms $((after - before))"
}

cold_kind()
{
	local i db ms used

	rm -f "$RUN"/cold.*
	for ((i = 0; i < COLD_PAIRS; i++)); do
		for db in $([ $((i % 2)) = 0 ] && echo heap zheap || echo zheap heap); do
			read -r ms used < <(cold_run $db "$1" "$i")
			echo "$ms" >>"$RUN/cold.ms.$db"
			echo "$used" >>"$RUN/cold.cpu.$db"
		done
		step "cold: $1, pair $((i + 1)): heap $(tail -n 1 "$RUN/cold.ms.heap") ms, zheap $(tail -n 1 "$RUN/cold.ms.zheap") ms"
	done
	note "$1, processor time, heap and zheap" "$(median <"$RUN/cold.cpu.heap") $(median <"$RUN/cold.cpu.zheap")" "1/100 s"
	note "$1, time, heap and zheap" "$(median <"$RUN/cold.ms.heap") $(median <"$RUN/cold.ms.zheap")" ms
	verdict "$1, time, zheap/heap" "$(paste "$RUN/cold.ms.zheap" "$RUN/cold.ms.heap" | awk '{ print $1 / $2 }' | median)" '<=' 1.0
}

task()
{
	local db kind

	restart_with "alter system set shared_buffers = '32MB'"
	both_databases
	for db in heap zheap; do
		step "cold: loading $db"
		cold_load $db
	done
	for kind in $COLD_KINDS; do
		cold_kind "$kind"
	done
	restart_with "alter system reset shared_buffers"
}
