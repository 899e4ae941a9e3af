# processor time and content lock waits per transaction of plain pgbench loads, heap and zheap in turn
#
# Processor time is that of all processes of the server.  It says more than transactions per
# second where other things run on the machine.

default CPU_SCALE 20 1
default CPU_PAIRS 7 2
default CPU_SECONDS 10 2
default CPU_SAMPLES 500 50

declare -A CPU_OPTIONS=(
	[N]="-N" [tpcb]="" [tpcb1]="" [select]="-S" [insert]="-f $PGBENCH_SCRIPTS/insert.sql"
)
declare -A CPU_TARGETS=([N]=0.95 [tpcb]=1.0 [tpcb1]=1.0 [select]=1.0 [insert]=1.02)

task()
{
	local load

	cpu_databases "$CPU_SCALE"
	for load in N tpcb select insert; do
		cpu_load $load
	done
	cpu_waits tpcb
	cpu_databases 1
	cpu_load tpcb1
	cpu_waits tpcb1
}

# cpu_databases SCALE
cpu_databases()
{
	local db

	both_databases
	for db in heap zheap; do
		step "cpu: loading $db, scale $1"
		pgbench_init $db "$1"
	done
}

cpu_load()
{
	local time_ratio rate_ratio

	cpu_pairs "$1" "$CPU_PAIRS" "$CPU_SECONDS" ${CPU_OPTIONS[$1]} -M prepared
	verdict "$1, processor time per transaction, zheap/heap" "$time_ratio" '<=' "${CPU_TARGETS[$1]}"
	verdict "$1, transactions/s, zheap/heap" "$rate_ratio" '>=' 1.0
}

# cpu_sampled DATABASE LOAD: how often a backend was seen to wait for the content of a page
cpu_sampled()
{
	open_session sampler "$1"
	tell sampler "do \$\$ declare n int := 0; begin perform pg_sleep(1); for i in 1..$CPU_SAMPLES loop perform pg_stat_clear_snapshot(); n := n + (select count(*) from pg_stat_activity where wait_event = 'BufferContent'); perform pg_sleep(0.01); end loop; raise exception 'seen %', n; end \$\$"
	pgbench_run "$1" ${CPU_OPTIONS[$2]} -M prepared -c "$CLIENTS" -j "$THREADS" -T $((CPU_SAMPLES / 60 + 3)) >/dev/null
	wait_answer sampler || die "the sampling session does not answer"
	said sampler | sed -n 's/.*seen \([0-9]*\).*/\1/p'
	close_session sampler
}

cpu_waits()
{
	local heap zheap

	heap=$(cpu_sampled heap "$1")
	zheap=$(cpu_sampled zheap "$1")
	verdict "$1, waits for page contents seen in $CPU_SAMPLES looks (heap: $heap)" "$zheap" '<=' "$heap"
}
