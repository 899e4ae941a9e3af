# pgbench -N, heap and zheap in turn

default TPS_SCALE 20 1
default TPS_RUNS 5 2
default TPS_SECONDS 20 2

task()
{
	local db ratio

	both_databases
	for db in heap zheap; do
		step "tps_n: loading $db"
		pgbench_init $db "$TPS_SCALE"
	done
	ratio=$(alternate "pgbench -N" "$TPS_RUNS" "$TPS_SECONDS" -N)
	verdict "pgbench -N, transactions/s, zheap/heap" "$ratio" '>=' 0.95
}
