# What launcher and workers do, for tasks that measure it.  Source it after sessions.sh.

# processor time of the launcher, of the workers that have ended, and of those that there are, in 1/100 s
workers_used()
{
	local pid sum=0 n

	for pid in $(sql postgres "select pid from pg_stat_activity where backend_type like 'zheap undo %'"); do
		n=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | awk '{ print $12 + $13 }') || n=0
		sum=$((sum + ${n:-0}))
	done
	# the postmaster has waited for all that are gone, other backends included
	n=$(sed 's/.*) //' "/proc/$(head -n 1 "$CLUSTER/postmaster.pid")/stat" | awk '{ print $14 + $15 }')
	echo "$sum ${n:-0}"
}

# pages of the undo relation that workers and others have looked at, when they have gone
undo_seen()
{
	until [ "$(sql zheap "select count(*) from zheap.zheap_stat_workers where role = 'worker'")" = 0 ]; do
		sleep 0.1
	done
	sleep 1
	sql zheap "select heap_blks_read + heap_blks_hit from pg_statio_all_tables where relid = 'zheap.undo'::regclass"
}

# its processes would count, and with so many databases it is all that one sees
autovacuum()
{
	sql postgres "alter system set autovacuum = $1" "select pg_reload_conf()" >/dev/null
}

wide_table()
{
	drop_database zheap
	make_database zheap
	sql zheap "create table wide (id int, f text)" "alter table wide alter f set storage plain" \
		"insert into wide select i, repeat('a', 1000) from generate_series(1, 20000) i" \
		"create table small (id int primary key, n int)" "insert into small select i, 0 from generate_series(1, 100) i"
}

# put_back NUMBER: wait until so many transactions are left to be rolled back
put_back()
{
	local started=$SECONDS

	until [ "$(sql zheap "select pending_transactions from zheap.zheap_stat_undo")" = "$1" ]; do
		[ $((SECONDS - started)) -le 120 ] || die "what was rolled back is not put back"
		sleep 0.05
	done
}
