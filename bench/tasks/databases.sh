# a session that stays in each of very many databases, and in one after the other a peak of writers
#
# 380 sessions at once: one stays in each database, so that nothing of it is forgotten.

default DATABASES_NUMBER 300 5
default DATABASES_WRITERS 80 20

task()
{
	local i failed=0 wrong=0

	autovacuum off
	drop_database model
	make_database model
	sql model "create table crowd (id int primary key, n int)" "insert into crowd select i, 0 from generate_series(1, 100) i"
	for ((i = 1; i <= DATABASES_NUMBER; i++)); do
		[ $((i % 25)) != 1 ] || step "databases: $i of $DATABASES_NUMBER, logs in use at last: $(sql "many$((i - 1))" "select logs from zheap.zheap_stat_undo" 2>/dev/null || true)"
		drop_database "many$i"
		sql postgres "create database many$i template model"
		open_session "many$i" "many$i"
		open_session gate "many$i"
		peak_of_writers "many$i" || { failed=$((failed + 1)); grep ERROR "$RUN/peak.log" | head -n 1 >&2; }
		close_session gate
		ask "many$i" "update crowd set n = n where id = 100"
	done
	for ((i = 1; i <= DATABASES_NUMBER; i++)); do
		ask "many$i" "begin; update crowd set n = n + 1 where id = 100; rollback"
		ask "many$i" "select 'sum', sum(n) from crowd"
		grep -qx "sum $DATABASES_WRITERS" "$RUN/talk.many$i" || wrong=$((wrong + 1))
	done
	verdict "databases where $DATABASES_WRITERS writers met an error" $failed '==' 0
	verdict "databases with a wrong sum" $wrong '==' 0
	note "shared memory for undo and its locks" \
		"$(sql postgres "select pg_size_pretty(sum(allocated_size)) from pg_shmem_allocations where name like 'zheap%'")"
	close_sessions
	for ((i = 1; i <= DATABASES_NUMBER; i++)); do
		drop_database "many$i"
	done
	autovacuum on
}

# all writers of a database are in a transaction at the same time
peak_of_writers()
{
	local db=$1 log=$RUN/peak.log pid

	ask gate "select pg_advisory_lock(1)"
	as_owner "$BINDIR/pgbench" -n -c "$DATABASES_WRITERS" -t 1 -f "$PGBENCH_SCRIPTS/idle.sql" "$db" >"$log" 2>&1 &
	pid=$!
	until [ "$(sql "$db" "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = '$db')")" = "$DATABASES_WRITERS" ]; do
		kill -0 $pid 2>/dev/null || break
		grep -q aborted "$log" && break
		sleep 0.05
	done
	ask gate "select pg_advisory_unlock(1)"
	wait $pid && ! grep -Eq 'aborted|number of failed transactions: [1-9]' "$log"
}
