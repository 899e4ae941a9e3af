# a queue as PGMQ has it, whose messages change a key before they go: its size without VACUUM, compared with autovacuum's

default QUEUEVACUUM_SECONDS 600 6

novacuum_make()
{
	queue_make zheap "$1"
}

novacuum_load()
{
	pgbench_run zheap -M prepared -f "$PGBENCH_SCRIPTS/queue_turn.sql" -c "$CLIENTS" -j "$THREADS" -T "$QUEUEVACUUM_SECONDS"
}

task()
{
	local NOVACUUM_TABLE=messages

	novacuum_compare
}
