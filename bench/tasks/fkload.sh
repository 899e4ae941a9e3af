# two loads of a table with a foreign key beside each other

default FKLOAD_ROWS 200000 2000
default FKLOAD_WAIT 300 30

task()
{
	local db started i
	local -A ms

	both_databases
	for db in heap zheap; do
		step "fkload: $db, two loads of $FKLOAD_ROWS rows"
		sql $db "create table par (id int primary key, n int)" "insert into par select i, 0 from generate_series(1, 200) i" \
			"create table ch (id int, pid int references par)"
		open_session one $db
		open_session two $db
		started=$(date +%s%3N)
		for i in one two; do
			tell $i "insert into ch select i, 1 + i::bigint * 7919 % 200 from generate_series(1, $FKLOAD_ROWS) i"
		done
		if wait_answer one "$FKLOAD_WAIT" && wait_answer two "$FKLOAD_WAIT"; then
			ms[$db]=$(($(date +%s%3N) - started))
			note "$db" "$(calc "${ms[$db]} / 1000")" s
			verdict "$db, rows missing" "$(sql $db "select 2 * $FKLOAD_ROWS - count(*) from ch")" '==' 0
			close_sessions
		else
			verdict "$db, given up after s" "$FKLOAD_WAIT" '<' "$FKLOAD_WAIT"
			stop_sessions
		fi
	done
	verdict "time, zheap/heap" "$([ -z "${ms[zheap]:-}" ] || calc "${ms[zheap]} / ${ms[heap]}")" '<=' 1.5
}
