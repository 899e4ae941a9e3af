# an old snapshot reads a row that was updated many times, and its neighbour

default HOTROW_UPDATES 20000 2000

task()
{
	local db

	both_databases
	for db in zheap heap; do
		step "hotrow: $db"
		sql $db "create table hotrow (id int primary key, v int not null, filler text)" \
			"insert into hotrow select i, 0, repeat('x', 20) from generate_series(1, 20) i" \
			"create function read_ms(which int, out ms float8, out v int) language plpgsql as \$\$
			declare started timestamptz := clock_timestamp();
			begin
				select h.v into v from hotrow h where h.id = which;
				ms := 1000 * extract(epoch from clock_timestamp() - started);
			end \$\$"
		open_session old $db
		# the snapshot, and a plan that does not look at the row yet
		ask old "set enable_seqscan = off; set enable_bitmapscan = off; begin isolation level repeatable read; select read_ms(0)"
		pgbench_run $db -f "$PGBENCH_SCRIPTS/hotrow.sql" -c 4 -j "$THREADS" -t $(((HOTROW_UPDATES + 3) / 4)) >/dev/null
		ask old "select 'first', * from read_ms(2);
			select 'neighbour', r.* from generate_series(1, 9) i, lateral read_ms(2 + i) r;
			select 'hot', r.* from generate_series(1, 9) i, lateral read_ms(1 + i * 0) r;
			commit;
			select 'now', * from read_ms(1)"
		said old >"$RUN/hotrow.$db"
		close_session old
		hotrow_report $db "$RUN/hotrow.$db"
	done
}

# hotrow_report DATABASE FILE: lines "what ms value"
hotrow_report()
{
	local hot neighbour wrong

	hot=$(awk '$1 == "hot" { print $2 }' "$2" | median)
	neighbour=$(awk '$1 == "neighbour" { print $2 }' "$2" | median)
	wrong=$(awk -v n=$(((HOTROW_UPDATES + 3) / 4 * 4)) '
		$1 == "hot" || $1 == "neighbour" || $1 == "first" { rows++; if ($3 != 0) bad++ }
		$1 == "now" { rows++; if ($3 != n) bad++ }
		END { print bad + (rows != 20) }' "$2")
	[ "$wrong" = 0 ] || cat "$2" >&2
	if [ $1 = heap ]; then
		note "heap, hot row by primary key" "$hot" ms
		note "heap, neighbour" "$neighbour" ms
	else
		verdict "hot row by primary key, old snapshot, median" "$hot" '<=' 10 ms
		note "  its first read" "$(awk '$1 == "hot" { print $2; exit }' "$2")" ms
		verdict "unmodified neighbour, old snapshot, median" "$neighbour" '<=' 1 ms
		note "  first read of the page" "$(awk '$1 == "first" { print $2 }' "$2")" ms
	fi
	verdict "$1, wrong values read" "$wrong" '==' 0
}
