# A queue as PGMQ has it, and the rate of a queue over time.  Source it after lib.sh.

# queue_make DATABASE [TABLE-OPTIONS]
queue_make()
{
	sql "$1" "create table messages (msg_id bigint generated always as identity primary key, read_ct int not null default 0,
			enqueued_at timestamptz not null default now(), vt timestamptz not null, message jsonb) ${2:+with ($2)}" \
		"create index messages_vt on messages (vt)" \
		"insert into messages (vt, message) select clock_timestamp(), '{\"n\": 1}' from generate_series(1, 100)"
}

# The mean of "progress" lines of the last run, from one second (exclusive) to another.
rate_between()
{
	awk -v from="$1" -v to="$2" '$1 == "progress:" && $2 > from + 0.5 && $2 < to + 0.5 { sum += $4; n++ }
		END { printf "%.0f\n", n ? sum / n : 0 }' "$RUN/pgbench.log"
}
