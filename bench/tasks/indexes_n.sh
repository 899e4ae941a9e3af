# updates of 1 of 1 to 64 indexed columns: speed and WAL by the number of indexes

default INDEXES_N "1 2 4 8 16 32 64" "1 8 64"
default INDEXES_N_ROWS 200000 2000
default INDEXES_N_RUNS 3 1
default INDEXES_N_SECONDS 20 2
default INDEXES_N_TURNS 40000 800

task()
{
	local n text

	both_databases
	for n in $INDEXES_N; do
		text="1 of $n indexed columns changed"
		make_wide "$n" "$INDEXES_N_ROWS"
		compare_wide "$text" indexes_one.sql "$INDEXES_N_ROWS" "$INDEXES_N_RUNS" "$INDEXES_N_SECONDS" "$INDEXES_N_TURNS"
		if [ "$n" = 64 ]; then
			verdict "$text: tps, zheap/heap" "$TPS_RATIO" '>=' 2.2
			verdict "$text: WAL, zheap/heap" "$WAL_RATIO" '<=' 0.15
		else
			note "$text: tps, zheap/heap" "$TPS_RATIO"
			note "$text: WAL, zheap/heap" "$WAL_RATIO"
		fi
	done
}
