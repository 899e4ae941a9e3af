# other rows beside very many changes of their page; a row under very many newer versions
#
# Each fetch comes after one more change of the other row, so that nothing found out before is of use.

default OLDVERSION_CHANGES 1000000 5000

task()
{
	local what

	drop_database zheap
	make_database zheap
	sql zheap "create table old (id int primary key, n int)" "insert into old select i, 0 from generate_series(1, 20) i" \
		"create function read_ms(which int, out ms float8, out n int) language plpgsql as \$\$
		declare started timestamptz := clock_timestamp();
		begin
			select o.n into n from old o where o.id = which;
			ms := 1000 * extract(epoch from clock_timestamp() - started);
		end \$\$"
	for what in writer reader; do
		open_session $what zheap
	done
	ask reader "set enable_seqscan = off; set enable_bitmapscan = off; select read_ms(20) from generate_series(1, 10)"

	step "oldversion: $OLDVERSION_CHANGES changes by an open transaction"
	ask writer "begin; update old set n = 1 where id = 1"
	ask writer "do \$\$ begin for i in 1 .. $OLDVERSION_CHANGES loop update old set n = n + 1 where id = 2; end loop; end \$\$"
	fetches 1 0
	verdict "a row that it changed once, median" "$FETCH_MS" '<=' 0.2 ms
	verdict "  wrong values read" "$FETCH_WRONG" '==' 0
	fetches 3 0
	verdict "a row that it did not change, median" "$FETCH_MS" '<=' 1 ms
	ask writer "commit"
	close_sessions

	for what in writer reader; do
		open_session $what zheap
	done
	step "oldversion: $OLDVERSION_CHANGES committed versions of a row"
	sql zheap "insert into old values (21, 0)"
	ask reader "set enable_seqscan = off; set enable_bitmapscan = off; select read_ms(20) from generate_series(1, 10)"
	ask reader "begin isolation level repeatable read; select count(*) from pg_class"
	ask writer "do \$\$ begin for i in 1 .. $OLDVERSION_CHANGES loop update old set n = n + 1 where id = 21; commit; end loop; end \$\$"
	fetches 21 0
	verdict "the row as an old snapshot sees it, median" "$FETCH_MS" '<=' 1 ms
	verdict "  wrong values read" "$FETCH_WRONG" '==' 0
	close_sessions
}

# fetches ROW VALUE: sets FETCH_MS (median) and FETCH_WRONG
fetches()
{
	local turn

	: >"$RUN/fetches"
	for ((turn = 1; turn <= 9; turn++)); do
		ask reader "select 'read', * from read_ms($1)"
		grep '^read' "$RUN/talk.reader" >>"$RUN/fetches"
		ask writer "update old set n = n + 1 where id = (select case when $1 = 21 then 21 else 2 end)"
	done
	FETCH_MS=$(awk '{ print $2 }' "$RUN/fetches" | median)
	FETCH_WRONG=$(awk -v n="$2" '$3 != n { bad++ } END { print bad + (NR != 9) }' "$RUN/fetches")
}
