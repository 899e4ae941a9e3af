-- REINDEX that fails in a subtransaction after it has rebuilt a GIN index which then lacks keys of older versions
\set ECHO none
set client_min_messages = warning;
\set ECHO all
create function fails(i int) returns int immutable language plpgsql as $$
begin
	if current_setting('test.fails', true) = 'yes' then raise 'fails'; end if;
	return i;
end $$;
create table f(id int primary key, a int[]) using zheap with (fillfactor = 30);
create index f_a on f using gin (a) with (fastupdate = off);
create index f_z on f (fails(id));
insert into f select i, array[i] from generate_series(1, 50) i;
begin;
update f set a = array[77];
savepoint s;
set local test.fails = 'yes';
reindex table f;
rollback to s;
select indcheckxmin from pg_index where indexrelid = 'f_a'::regclass;
savepoint s;
set local test.fails = 'yes';
reindex table f;
rollback;
select indcheckxmin from pg_index where indexrelid = 'f_a'::regclass;
set enable_seqscan = off;
select count(*) from f where a @> '{7}';
begin;
update f set a = array[77];
savepoint s;
do $$ begin
	set local test.fails = 'yes';
	reindex table f;
exception when others then
	raise notice '%', sqlerrm;
end $$;
release s;
show test.fails;
select indcheckxmin from pg_index where indexrelid = 'f_a'::regclass;
reindex table f;
select indcheckxmin from pg_index where indexrelid = 'f_a'::regclass;
rollback;
select count(*) from f where a @> '{7}';
reset enable_seqscan;
drop table f;
drop function fails;
