# A queue as PGMQ has it.  Source it after lib.sh.

# queue_make DATABASE [TABLE-OPTIONS]
queue_make()
{
	sql "$1" "create table messages (msg_id bigint generated always as identity primary key, read_ct int not null default 0,
			enqueued_at timestamptz not null default now(), vt timestamptz not null, message jsonb) ${2:+with ($2)}" \
		"create index messages_vt on messages (vt)" \
		"insert into messages (vt, message) select clock_timestamp(), '{\"n\": 1}' from generate_series(1, 100)"
}
