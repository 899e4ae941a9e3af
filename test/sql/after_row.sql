-- AFTER ROW triggers see OLD and NEW as heap shows them, whatever happened to the row between the event and the trigger.
create table aft_log (seq serial, what text);
create function aft_note() returns trigger language plpgsql as $$
begin
	insert into aft_log (what) values (format('%s %s %s: %s -> %s', tg_name, tg_when, tg_op,
		case when tg_op = 'INSERT' then '-' else old::text end, case when tg_op = 'DELETE' then '-' else new::text end));
	return null;
end $$;
create function aft_show() returns table (what text) language sql as $$
	with gone as (delete from aft_log returning *) select what from gone order by seq;
$$;
create table aft_t (id int primary key, n int, v text, k int) using zheap;
create index aft_t_k on aft_t (k);
create trigger now after insert or update or delete on aft_t for each row execute function aft_note();
create constraint trigger late after insert or update or delete on aft_t deferrable initially deferred for each row execute function aft_note();

-- one command at a time
insert into aft_t select g, g * 10, 'row ' || g, g from generate_series(1, 4) g;
update aft_t set n = n + 1;
update aft_t set k = k + 100 where id < 3;
delete from aft_t where id = 4;
select aft_show();
-- a TID with a tag must not get into an index (a bitmap of TIDs has no room for tags)
set enable_seqscan = off;
set enable_indexscan = off;
select id, n, k from aft_t where k > 0 order by id;
reset enable_seqscan;
reset enable_indexscan;
-- in place, several times in one transaction: deferred events mean each its own version
begin;
update aft_t set n = n + 1 where id = 1;
update aft_t set v = v || '!' where id = 1;
update aft_t set v = v || repeat('long', 5), n = 0 where id = 1;
select aft_show();
commit;
select aft_show();
-- inserted, updated in place and by a move, deleted, in one transaction
begin;
insert into aft_t values (5, 50, 'five', 5);
update aft_t set n = 51 where id = 5;
update aft_t set n = 52 where id = 5;
update aft_t set k = 500 where id = 5;
update aft_t set n = 53 where id = 5;
delete from aft_t where id = 5;
select aft_show();
commit;
select aft_show();
-- the same row twice by way of SET CONSTRAINTS
begin;
insert into aft_t values (6, 60, 'six', 6);
update aft_t set n = 61 where id = 6;
truncate aft_log;
set constraints all immediate;
select aft_show();
update aft_t set n = 62 where id = 6;
set constraints late deferred;
update aft_t set n = 63 where id = 6;
update aft_t set n = 64 where id = 6;
truncate aft_log;
commit;
select aft_show();
-- SET CONSTRAINTS within a query: its snapshot is not the events'
create function aft_fire() returns int language plpgsql as $$
begin
	set constraints late immediate;
	set constraints late deferred;
	return 1;
end $$;
begin;
insert into aft_t values (7, 70, 'seven', 7);
update aft_t set n = 71 where id = 7;
truncate aft_log;
select aft_fire();
select aft_show();
commit;
-- rolled-back versions do not count
begin;
update aft_t set n = 100 where id = 2;
savepoint a;
update aft_t set n = 200 where id = 2;
savepoint b;
update aft_t set n = 300 where id = 2;
rollback to a;
update aft_t set n = 400 where id = 2;
savepoint c;
update aft_t set n = 500 where id = 2;
release c;
update aft_t set n = 600 where id = 2;
truncate aft_log;
commit;
select aft_show();
begin;
savepoint a;
insert into aft_t values (8, 80, 'eight', 8);
update aft_t set n = 81 where id = 8;
savepoint b;
delete from aft_t where id = 8;
rollback to b;
update aft_t set n = 82 where id = 8;
release a;
truncate aft_log;
commit;
select aft_show();
-- more versions of a row in one transaction than there are tags
begin;
do $$ begin for i in 1 .. 70 loop update aft_t set n = i where id = 3; end loop; end $$;
truncate aft_log;
commit;
select count(*), count(distinct what) from aft_log;
select count(*) from aft_log where what !~ '\(3,(\d+),.*\(3,(\d+),';
select bool_and(b - a = 1), min(a), max(b) from (
	select (regexp_match(what, '-> \(3,(\d+),'))[1]::int b, lag((regexp_match(what, '-> \(3,(\d+),'))[1]::int) over (order by seq) a from aft_log) x;
select count(*) from (select (regexp_match(what, ': \(3,(\d+),'))[1]::int o, (regexp_match(what, '-> \(3,(\d+),'))[1]::int n from aft_log) x where n = o + 1;
truncate aft_log;
-- ON CONFLICT, MERGE, CTEs, COPY
insert into aft_t values (1, -1, 'x', 1), (9, 90, 'nine', 9) on conflict (id) do update set n = excluded.n, v = aft_t.v || '?' returning id, n;
merge into aft_t using (values (1), (2), (10)) s (id) on aft_t.id = s.id
	when matched and s.id = 1 then update set n = 7 when matched then delete
	when not matched then insert values (s.id, 0, 'merged', 0);
with u as (update aft_t set n = n + 1 where id = 3 returning id) select 'not read' as cte;
with u as (update aft_t set n = n + 1 where id = 1 returning *), d as (delete from aft_t where id = 9 returning *) select id from u union all select id from d;
copy aft_t from stdin;
11	1	copied	1
12	2	copied	2
\.
select aft_show();
-- the TID that RETURNING shows finds the row
do $$
declare tid tid; m int;
begin
	update aft_t set n = n + 1 where id = 11 returning ctid into tid;
	update aft_t set n = n + 1 where ctid = tid returning n into m;
	raise notice 'n = %', m;
end $$;
truncate aft_log;
-- a trigger that changes the row again
create function aft_again() returns trigger language plpgsql as $$
begin
	if new.n < 1003 then update aft_t set n = n + 1 where id = new.id; end if;
	return null;
end $$;
create trigger again after update on aft_t for each row when (new.n >= 1000) execute function aft_again();
update aft_t set n = 1000 where id = 12;
select aft_show();
create trigger aagain after insert on aft_t for each row when (new.n >= 1000) execute function aft_again();
insert into aft_t values (13, 1000, 'thirteen', 13);
select aft_show();
select * from aft_t where id > 11 order by id;
drop trigger again on aft_t;
drop trigger aagain on aft_t;
-- BEFORE triggers that change or delete the row itself
create function aft_self() returns trigger language plpgsql as $$
begin
	if tg_op = 'UPDATE' then
		update aft_t set v = 'by the trigger' where id = old.id and n = old.n;
		return new;
	end if;
	update aft_t set v = 'by the trigger' where id = old.id;
	return old;
end $$;
create trigger self before update or delete on aft_t for each row when (pg_trigger_depth() = 0) execute function aft_self();
update aft_t set n = n + 1 where id = 12;
delete from aft_t where id = 12;
merge into aft_t using (values (12)) s (id) on aft_t.id = s.id when matched then delete;
select * from aft_t where id = 12;
drop trigger self on aft_t;
truncate aft_log;
-- a view's triggers and check option
create view aft_v as select * from aft_t where n < 5000 with check option;
update aft_v set n = n + 1 where id = 12 returning *;
update aft_v set n = 9999 where id = 12;
delete from aft_v where id = 12 returning *;
select aft_show();
-- WHERE CURRENT OF
begin;
declare c cursor for select * from aft_t where id in (11, 13) order by id for update;
fetch c;
update aft_t set n = n + 1 where current of c;
update aft_t set n = n + 1 where current of c;
delete from aft_t where current of c;
commit;
select aft_show();
-- long values of old versions
update aft_t set v = repeat('0123456789', 2000) where id = 13;
alter table aft_t alter v set storage external;
begin;
update aft_t set v = repeat('abcdefghij', 2000) where id = 13;
update aft_t set n = 5, v = v || '.' where id = 13;
delete from aft_t where id = 13;
truncate aft_log;
commit;
select md5(what), length(what) from aft_log order by seq;
truncate aft_log;
set zheap.xmin = 'transaction';
-- system columns of OLD and NEW are those of their versions
create function aft_sys() returns trigger language plpgsql as $$
begin
	raise notice '% % -> %: xmin % %, xmax %', tg_op, old.n, new.n, old.xmin = pg_current_xact_id()::xid, new.xmin = pg_current_xact_id()::xid, old.xmax = pg_current_xact_id()::xid;
	return null;
end $$;
create constraint trigger sys after update on aft_t deferrable initially deferred for each row execute function aft_sys();
begin;
update aft_t set n = n + 1 where id = 1;
update aft_t set n = n + 1 where id = 1;
commit;
drop view aft_v;
drop table aft_t, aft_log;
drop function aft_note, aft_show, aft_fire, aft_again, aft_self, aft_sys;
-- moved and updated in place in turn, on the way to deferred events of updates alone; more versions than there are tags
create table aft_m (id int primary key, n int) using zheap;
create function aft_next() returns trigger language plpgsql as $$
begin
	if new.n <> old.n + 1 then raise exception 'OLD % NEW %', old, new; end if;
	if new.id <> old.id and new.id % 10 = 1 then raise notice 'OLD % NEW %', old, new; end if;
	return null;
end $$;
create constraint trigger late after update on aft_m deferrable initially deferred for each row execute function aft_next();
begin;
insert into aft_m values (1, 0), (2, 0), (3, 0);
update aft_m set n = n + 1;
update aft_m set n = n + 1 where id < 3;
update aft_m set n = n + 1, id = id + 10 where id <> 2;
update aft_m set n = n + 1;
savepoint s;
update aft_m set n = n + 1, id = id + 100;
rollback to s;
update aft_m set n = n + 1, id = id + 10;
update aft_m set n = n + 1;
commit;
do $$
begin
	for i in 1 .. 100 loop
		begin
			update aft_m set n = n + 1;
			if i % 10 = 5 then raise exception 'undo'; end if;
		exception when raise_exception then null;
		end;
	end loop;
end $$;
select * from aft_m order by id;
begin;
do $$ begin for i in 1 .. 60 loop update aft_m set n = n + 1; end loop; end $$;
set constraints all immediate;
commit;
drop table aft_m;
drop function aft_next;
