# WAL per simple-update transaction, without page images, by record type
#
# Steady state: every page was touched after the last checkpoint, so that hardly a
# record is shortened by a page image.

default WAL_SCALE 5 1
default WAL_WARMUP 100000 10000
default WAL_TRANSACTIONS 80000 8000

task()
{
	local db from to transactions
	local -A bytes

	both_databases
	transactions=$(($(per_client "$WAL_TRANSACTIONS") * CLIENTS))
	for db in heap zheap; do
		step "wal: $db"
		pgbench_init $db "$WAL_SCALE"
		sql postgres "checkpoint"
		pgbench_run $db -N -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$WAL_WARMUP")" >/dev/null
		from=$(lsn)
		pgbench_run $db -N -c "$CLIENTS" -j "$THREADS" -t "$(per_client "$WAL_TRANSACTIONS")" >/dev/null
		to=$(lsn)
		wal_report "$from" "$to" "$RUN/wal.$db"
		bytes[$db]=$(calc "$(wal_total "$RUN/wal.$db" record) / $transactions" %.1f)
		echo "$db, bytes without page images and number of records per transaction:"
		wal_rows "$RUN/wal.$db" | sort -k3,3nr |
			awk -v n="$transactions" '$3 / n >= 0.05 { printf "      %-36s %8.1f B %8.3f  %6.1f B each, images %.1f B\n", $1, $3 / n, $2 / n, $3 / $2, $4 / n }'
	done
	note "heap, bytes per transaction" "${bytes[heap]}"
	verdict "zheap, bytes per transaction" "${bytes[zheap]}" '<=' 200
}
