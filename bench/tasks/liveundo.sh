# a few aborts, with little and with much undo that a snapshot keeps

default LIVEUNDO_MB 1000 20
default LIVEUNDO_ABORTS 20 5

task()
{
	local i few

	autovacuum off
	wide_table
	open_session writer zheap
	open_session watcher zheap
	ask writer "update small set n = 0"
	step "liveundo: $LIVEUNDO_ABORTS aborts"
	aborts_cost "$LIVEUNDO_ABORTS"
	note "little live undo, processor time of workers" "$(calc "$ABORTS_USED / 100")" s
	few="$ABORTS_SEEN $ABORTS_USED"
	hold_snapshot zheap
	step "liveundo: with $LIVEUNDO_MB MB of live undo"
	for ((i = 0; i < LIVEUNDO_MB; i += 20)); do
		sql zheap "update wide set f = repeat(chr(98 + $i / 20 % 25), 1000)"
	done
	aborts_cost "$LIVEUNDO_ABORTS"
	note "undo in use" "$(calc "$(undo_used zheap) / 1048576" %.0f)" MB
	note "much live undo, processor time of workers" "$(calc "$ABORTS_USED / 100")" s
	verdict "pages of undo looked at by $LIVEUNDO_ABORTS aborts, more than without" $((ABORTS_SEEN - ${few% *})) '<=' $((20 * LIVEUNDO_ABORTS))
	verdict "processor time of workers, more than without" "$(calc "($ABORTS_USED - ${few#* }) / 100")" '<=' 0.2 s
	release_snapshots
	close_sessions
	autovacuum on
}

# aborts_cost NUMBER: sets ABORTS_SEEN, pages of undo, and ABORTS_USED, 1/100 s of processor time of worker and launcher
aborts_cost()
{
	local i used

	ABORTS_SEEN=$(undo_seen)
	used=($(workers_used))
	for ((i = 1; i <= $1; i++)); do
		ask writer "begin; update small set n = n + 1 where id = $i; rollback"
		ask watcher "do \$\$ begin while (select pending_transactions > 0 from zheap.zheap_stat_undo) loop perform pg_sleep(0.01); end loop; end \$\$"
	done
	ABORTS_SEEN=$(($(undo_seen) - ABORTS_SEEN))
	i=($(workers_used))
	ABORTS_USED=$((i[0] + i[1] - used[0] - used[1]))
}
