-- A queue, and a table that others look into.
create table jobs (id bigint generated always as identity primary key, run_at timestamptz not null default clock_timestamp(),
	status text not null default 'pending', payload jsonb not null);
create index jobs_pending on jobs (run_at) where status = 'pending';
create table accounts (id int primary key, balance int not null, filler text);
