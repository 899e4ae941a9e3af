# ROLLBACK of a large UPDATE

default ROLLBACK_ROWS 1000000 50000
default ROLLBACK_WAIT 120 10

task()
{
	local out=$RUN/rollback.out ms sum right pending started

	drop_database zheap
	make_database zheap
	step "rollback: loading $ROLLBACK_ROWS rows, updating them"
	sql zheap "create table big (id int primary key, v int not null, filler text)" \
		"insert into big select i, 1, repeat('x', 40) from generate_series(1, $ROLLBACK_ROWS) i" "checkpoint"
	as_owner "$BINDIR/psql" -X -qAt -v ON_ERROR_STOP=1 -d zheap >"$out" <<-'SQL'
	begin;
	update big set v = v + 1;
	\timing on
	rollback;
	select sum(v) from big;
	\timing off
	SQL
	# "Time: 1.2 ms", the sum, "Time: ..."
	ms=$(awk '/^Time/ { print $2; exit }' "$out")
	sum=$(grep -vm1 '^Time' "$out")
	right=$ROLLBACK_ROWS
	started=$SECONDS
	verdict "ROLLBACK of an UPDATE of $ROLLBACK_ROWS rows" "$ms" '<=' 50 ms
	verdict "sum of the column right after, less what is right" $((sum - right)) '==' 0
	note "  reading it" "$(awk '/^Time/ && ++n == 2 { print $2 }' "$out")" ms
	if [ "$(sql zheap "select to_regproc('zheap.zheap_undo_pending') is not null")" = t ]; then
		pending=1
		while [ "$pending" != 0 ] && [ $((SECONDS - started)) -lt "$ROLLBACK_WAIT" ]; do
			sleep 0.5
			pending=$(sql zheap "select coalesce(max(n), 0) from (select zheap.zheap_undo_pending()::bigint n) p")
		done
		verdict "undo still to apply after $((SECONDS - started)) s" "$pending" '==' 0
	else
		note "zheap.zheap_undo_pending() is not there" -
	fi
	verdict "sum of the column later, less what is right" \
		$(($(sql zheap "select sum(v) from big") - right)) '==' 0
	note "undo relation, kB" $(($(undo_bytes zheap) / 1024))
}
