# a prepared transaction with undo behind it: what launcher and workers do meanwhile
#
# No session comes or goes in between, so what the postmaster has waited for are workers, and one psql at each end.

default DOUBT_MB 100 5
default DOUBT_SECONDS 60 5

task()
{
	local i before after

	autovacuum off
	wide_table
	step "doubt: a prepared transaction, and $DOUBT_MB MB of undo behind it"
	open_session writer zheap
	ask writer "begin; update small set n = 1 where id = 100; prepare transaction 'doubt'"
	for ((i = 0; i < DOUBT_MB; i += 20)); do
		ask writer "begin; update wide set f = repeat('b', 1000) where id <= $((DOUBT_MB - i)) * 1000; rollback"
	done
	put_back 1
	note "undo in use" "$(calc "$(undo_used zheap) / 1048576" %.0f)" MB
	close_session writer
	i=$(undo_seen)
	before=($(workers_used))
	sleep "$DOUBT_SECONDS"
	after=($(workers_used))
	verdict "launcher and workers, processor time in $DOUBT_SECONDS s" \
		"$(calc "(${after[0]} + ${after[1]} - ${before[0]} - ${before[1]}) / 100")" '<' 0.1 s
	verdict "pages of undo that were looked at" $(($(undo_seen) - i)) '<' 1000
	sql zheap "rollback prepared 'doubt'"
	put_back 0
	verdict "sum of the column" "$(sql zheap "select sum(n) from small")" '==' 0
	autovacuum on
}
