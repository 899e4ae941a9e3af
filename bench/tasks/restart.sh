# first query after kill -9 in the middle of a large UPDATE
#
# The middle of the update is half of the time that the same one took before.

default RESTART_ROWS 5000000 100000

task()
{
	local started half redo_end answered rows ms

	drop_database zheap
	make_database zheap
	step "restart: loading $RESTART_ROWS rows, updating them twice"
	sql zheap "create table big (id int primary key, v int not null)" \
		"insert into big select i, 1 from generate_series(1, $RESTART_ROWS) i"
	started=$(date +%s%N)
	sql zheap "update big set v = v + 1"
	half=$(calc "($(date +%s%N) - $started) / 2000000000" %.3f)
	sql zheap "checkpoint"
	sql zheap "update big set v = v + 1" >/dev/null 2>&1 &
	sleep "$half"
	crash_server
	wait $! || true
	: >"$CLUSTER.log"
	quietly as_owner "$BINDIR/pg_ctl" -D "$CLUSTER" -l "$CLUSTER.log" -W start
	until rows=$(sql zheap "select v from big where id = $RESTART_ROWS / 2" 2>/dev/null); do
		sleep 0.02
	done
	answered=$(date +%s%3N)
	redo_end=$(date -d "$(sed -n 's/^\([-0-9]* [.:0-9]* [A-Z]*\) .*redo done at.*/\1/p' "$CLUSTER.log")" +%s%3N)
	ms=$((answered - redo_end))
	note "$(grep -o 'redo done at.*' "$CLUSTER.log")" ""
	verdict "end of redo to the first row, in the middle of $RESTART_ROWS" "$ms" '<=' 1000 ms
	verdict "the row as it was" "$rows" '==' 2
	verdict "sum of the column, less what is right" \
		$(($(sql zheap "select sum(v) from big") - 2 * RESTART_ROWS)) '==' 0
}

# kill -9 of the postmaster and all its children at once
crash_server()
{
	local postmaster

	read -r postmaster <"$CLUSTER/postmaster.pid"
	kill -STOP "$postmaster"
	kill -KILL $(pgrep -P "$postmaster") "$postmaster"
	while [ -n "$(ps -o stat= -p "$postmaster" | grep -v Z)" ]; do
		sleep 0.05
	done
	rm -f "$CLUSTER/postmaster.pid" "$SOCKET"/.s.PGSQL.*
}
