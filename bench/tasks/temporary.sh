# a large transaction on a temporary table: memory, what its rollback costs others
#
# Each pass over the table is about 6.4 MB of undo.

default TEMPORARY_MB 1024 160

task()
{
	local change right before usual later
	local look="select md5(string_agg(v, id::text order by id)) from wide"

	change="do \$\$ begin for i in 1 .. $((TEMPORARY_MB * 10 / 64)) loop update wide set v = repeat(md5(v || i), 200); end loop; end \$\$"
	drop_database zheap
	make_database zheap
	sql zheap "create table other (id int primary key, n int)" "insert into other select i, 0 from generate_series(1, 1000) i"
	step "temporary: $TEMPORARY_MB MB of undo, limit 64 MB"
	open_session t zheap
	ask t "create temp table wide (id int primary key, v text)"
	ask t "alter table wide alter v set storage plain"
	ask t "insert into wide select i, repeat(md5(i::text), 200) from generate_series(1, 1000) i"
	elsewhere
	ask t "$look"
	right=$(said t)
	before=$(session_peak t)
	ask t "set zheap.temp_undo_max_size = '64MB'"
	ask t "begin"
	tell t "$change"
	wait_answer t 600 || die "no answer"
	verdict "error that tells of the limit" "$(grep -c 'would exceed "zheap.temp_undo_max_size"' "$RUN/talk.t")" '==' 1
	ask t "rollback"
	verdict "memory of the session, peak, above that before" $(($(session_peak t) - before)) '<=' 100 MB
	ask t "$look"
	verdict "rows as before" "$([ "$(said t)" = "$right" ] && echo 1 || echo 0)" '==' 1

	step "temporary: $TEMPORARY_MB MB of undo, rolled back"
	ask t "set zheap.temp_undo_max_size = '4GB'"
	elsewhere
	usual=$LONGEST
	ask t "begin"
	tell t "$change"
	wait_answer t 600 || die "no answer"
	printf '\\timing on\n' >&"${TALK_FD[t]}"
	ask t "rollback"
	note "ROLLBACK" "$(awk '/^Time/ { print $2 }' "$RUN/talk.t")" ms
	elsewhere
	later=$LONGEST
	note "longest statement on another table before" "$usual" ms
	note "  then" "$later" ms
	verdict "  more" "$(calc "$later - $usual" %.3f)" '<=' 10 ms
	printf '\\timing on\n' >&"${TALK_FD[t]}"
	ask t "select 1 from wide limit 1"
	note "  first one on the temporary table" "$(awk '/^Time/ { print $2 }' "$RUN/talk.t")" ms
	printf '\\timing off\n' >&"${TALK_FD[t]}"
	ask t "$look"
	verdict "rows as before" "$([ "$(said t)" = "$right" ] && echo 1 || echo 0)" '==' 1
	close_sessions
}

# Most memory that a session has had, in MB.
session_peak()
{
	awk '/^VmHWM/ { printf "%.0f\n", $2 / 1024 }' "/proc/${TALK_BACKEND[$1]}/status"
}

# LONGEST gets the milliseconds of the longest of a few statements of session t on another table than its temporary one.
elsewhere()
{
	local statement ms

	LONGEST=0
	printf '\\timing on\n' >&"${TALK_FD[t]}"
	for statement in "select sum(n) from other" "update other set n = n + 1 where id = 7" \
		"delete from other where id = 8" "insert into other values (8, 0)" "select sum(n) from other"; do
		ask t "$statement"
		ms=$(awk '/^Time/ { print $2 }' "$RUN/talk.t")
		LONGEST=$(calc "$ms > $LONGEST ? $ms : $LONGEST" %.3f)
	done
	printf '\\timing off\n' >&"${TALK_FD[t]}"
}
