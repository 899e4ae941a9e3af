# Sessions that stay open while something else is measured.  Source it after lib.sh.

declare -A TALK_FD TALK_CLIENT TALK_BACKEND TALK_COUNT

# open_session NAME DATABASE
open_session()
{
	local pipe=$RUN/talk.$1.in fd

	rm -f "$pipe" "$RUN/talk.$1"
	mkfifo "$pipe"
	own "$pipe"
	as_owner_exec "$BINDIR/psql" -X -qAt -F ' ' -d "$2" <"$pipe" >>"$RUN/talk.$1" 2>&1 &
	TALK_CLIENT[$1]=$!
	exec {fd}>"$pipe"
	TALK_FD[$1]=$fd
	TALK_COUNT[$1]=0
	ask "$1" "select pg_backend_pid()"
	TALK_BACKEND[$1]=$(head -n 1 "$RUN/talk.$1")
}

# tell NAME SQL: start it; output goes to $RUN/talk.NAME, which is empty at first
tell()
{
	: >"$RUN/talk.$1"
	printf '%s;\n\\echo done %d\n' "$2" $((++TALK_COUNT[$1])) >&"${TALK_FD[$1]}"
}

answered()
{
	grep -qx "done ${TALK_COUNT[$1]}" "$RUN/talk.$1"
}

# wait_answer NAME [SECONDS]: status 1 if there is none
wait_answer()
{
	local started=$SECONDS

	until answered "$1"; do
		[ $((SECONDS - started)) -le "${2:-3600}" ] && kill -0 "${TALK_CLIENT[$1]}" 2>/dev/null || return 1
		sleep 0.02
	done
}

ask()
{
	tell "$1" "$2"
	wait_answer "$1" || { cat "$RUN/talk.$1" >&2; die "session $1 does not answer"; }
	! grep ERROR "$RUN/talk.$1" >&2 || die "session $1"
}

# What a session was told last.
said()
{
	grep -v '^done ' "$RUN/talk.$1"
}

close_session()
{
	local fd=${TALK_FD[$1]}

	printf '\n\\q\n' >&$fd 2>/dev/null || true
	exec {fd}>&-
	wait "${TALK_CLIENT[$1]}" 2>/dev/null || true
	unset "TALK_FD[$1]"
}

close_sessions()
{
	local name

	for name in "${!TALK_FD[@]}"; do
		close_session "$name"
	done
}

# What does not end is ended by stopping the server.
stop_sessions()
{
	local name fd

	cluster_stop immediate
	for name in "${!TALK_FD[@]}"; do
		fd=${TALK_FD[$name]}
		exec {fd}>&-
		kill "${TALK_CLIENT[$name]}" 2>/dev/null || true
		wait "${TALK_CLIENT[$name]}" 2>/dev/null || true
		unset "TALK_FD[$name]"
	done
	quietly as_owner "$BINDIR/pg_ctl" -D "$CLUSTER" -l "$CLUSTER.log" -w -t 120 start
}

# processor time of a session's backend, in 1/100 s
used()
{
	sed 's/.*) //' "/proc/${TALK_BACKEND[$1]}/stat" | awk '{ print $12 + $13 }'
}

# hold_snapshot DATABASE: keep one open until release_snapshots
hold_snapshot()
{
	open_session "held.$1" "$1"
	ask "held.$1" "begin isolation level repeatable read; select count(*) from pg_class"
}

release_snapshots()
{
	local name

	for name in "${!TALK_FD[@]}"; do
		[[ $name != held.* ]] || close_session "$name"
	done
}
