# very many changes of one page, rolled back: readers and writers of the page meanwhile

default HOTPAGE_CHANGES 1000000 5000
default HOTPAGE_WAIT 300 30

task()
{
	local n few=

	sql postgres "alter system set zheap.undo_workers = 0" "select pg_reload_conf()" >/dev/null
	for n in $((HOTPAGE_CHANGES / 10)) "$HOTPAGE_CHANGES"; do
		step "hotpage: $n changes, rolled back"
		if hot_rollback "$n"; then
			note "putting back $n changes, processor time" "$(calc "$HOT_USED / 100" %.2f)" s
			verdict "longest read of the page meanwhile" "$HOT_READ" '<=' 50 ms
			verdict "longest update of another row meanwhile" "$HOT_WRITE" '<=' 50 ms
			verdict "sum of the column, less what is right" \
				"$(sql zheap "select sum(n) filter (where id <> 2) from hot")" '==' 0
		else
			verdict "putting back $n changes, given up after s" "$HOTPAGE_WAIT" '<' "$HOTPAGE_WAIT"
			HOT_USED=
		fi
		if [ -z "$few" ]; then
			few=${HOT_USED:-none}
		elif [ -n "$HOT_USED" ] && [ "$few" != none ]; then
			verdict "ten times the changes, processor time" "$(calc "$HOT_USED / ($few > 10 ? $few : 10)" %.1f)" '<=' 12 times
		else
			verdict "ten times the changes, processor time" "" '<=' 12 times
		fi
	done
	drop_database zheap
	sql postgres "alter system reset zheap.undo_workers" "select pg_reload_conf()" >/dev/null
}

# hot_rollback CHANGES: sets HOT_USED (1/100 s of processor time), HOT_READ and HOT_WRITE (longest, ms); status 1 if it does not end
hot_rollback()
{
	local what started

	drop_database zheap
	make_database zheap
	sql zheap "create table hot (id int primary key, n int)" "insert into hot select i, 0 from generate_series(1, 100) i"
	for what in writer sweep reader other; do
		open_session $what zheap
	done
	ask writer "begin"
	ask writer "do \$\$ begin for i in 1 .. $1 / 100 loop update hot set n = n + 1; end loop; end \$\$"
	ask writer "rollback"
	printf '\\timing on\n' >&"${TALK_FD[reader]}"
	printf '\\timing on\n' >&"${TALK_FD[other]}"
	HOT_USED=$(used sweep)
	: >"$RUN/hot.reader"
	: >"$RUN/hot.other"
	started=$SECONDS
	tell sweep "vacuum zheap.undo"
	while :; do
		tell reader "select n from hot where id = 3"
		tell other "update hot set n = n + 1 where id = 2"
		for what in reader other; do
			wait_answer $what $((started + HOTPAGE_WAIT - SECONDS)) || { stop_sessions; return 1; }
			cat "$RUN/talk.$what" >>"$RUN/hot.$what"
		done
		! answered sweep || break
		[ $((SECONDS - started)) -le "$HOTPAGE_WAIT" ] || { stop_sessions; return 1; }
	done
	HOT_USED=$(($(used sweep) + $(used other) - HOT_USED))
	HOT_READ=$(awk '/^Time/ && $2 > m { m = $2 } END { print m }' "$RUN/hot.reader")
	HOT_WRITE=$(awk '/^Time/ && $2 > m { m = $2 } END { print m }' "$RUN/hot.other")
	close_sessions
}
