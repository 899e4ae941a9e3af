-- What is new in 18, on heap and zheap alike: OLD and NEW in RETURNING, virtual columns, WITHOUT OVERLAPS,
-- constraints that are not valid yet, skip scans.
\getenv testdir PG_ABS_SRCDIR
\set alike :testdir '/include/alike.sql'
\i :alike

-- OLD and NEW: in place, moved, with another key, inserted, deleted, by upsert and by MERGE
select alike('create table r (id int primary key, n int, t text)');
select alike('create index r_n on r (n)');
select alike($$insert into r select g, g, repeat('r', 60) from generate_series(1, 100) g$$);
select alike('update r set n = n + 1 where id < 4 returning old.id, old.n, new.n, n, old.t = new.t');
select alike($$update r set t = repeat('R', 3000) where id < 4 returning old.id, length(old.t), length(new.t)$$);
select alike('update r set id = id + 1000, n = -n where id < 4 returning old.id, old.n, length(old.t), new.id, new.n');
select alike($$update r set t = repeat('R', 40) where id > 1000 returning length(old.t), length(new.t), left(old::text, 9), length(new::text)$$);
select alike($$insert into r values (200, 1, 'a') returning old, new.id, old.id is null$$);
select alike('delete from r where id in (200, 10) returning old.id, new.id, new is null');
select alike($$insert into r values (5, 50, 'b'), (300, 3, 'c'), (6, 60, repeat('d', 4000)) on conflict (id)
	do update set n = excluded.n + r.n, t = excluded.t returning old.id, old.n, new.id, new.n, length(old.t), length(new.t)$$);
select alike($$merge into r using (values (5), (6), (7), (301)) s (id) on r.id = s.id
	when matched and s.id = 6 then delete
	when matched then update set n = 0, t = t || repeat('m', 500 * s.id)
	when not matched then insert values (s.id, 0, 'm')
	returning with (old as o, new as w) merge_action(), o.id, o.n, w.id, w.n, length(o.t), length(w.t)$$);
-- several times in a transaction, and back
do $$
begin
	perform alike('update r set n = n + 1 where id = 20 returning old.n');
	begin
		raise notice '%', alike('update r set n = n + 1, t = repeat(t, 20) where id = 20 returning old.n, new.n, length(old.t), length(new.t)');
		raise exception 'back';
	exception when raise_exception then null;
	end;
	raise notice '%', alike('update r set n = n + 1 where id = 20 returning old.n, new.n, length(old.t), length(new.t)');
end $$;
-- BEFORE triggers that change NEW, that suppress, and that change the row itself
create function r_before() returns trigger language plpgsql as $$
begin
	if new.id = 31 then return null; end if;
	if new.id = 32 then execute format('update %I.r set n = 3200 where id = 32 and n < 1000', tg_table_schema); end if;
	new.n = new.n + 10000;
	return new;
end $$;
select alike('create trigger r_before before update on r for each row when (pg_trigger_depth() = 0) execute function r_before()');
select alike('update r set n = n + 1 where id in (30, 31, 33) returning old.n, new.n, old.id');
select alike('update r set n = n + 1 where id = 32 returning old.n, new.n, old.id');
select alike($$insert into r values (34, 0, 'x') on conflict (id) do update set t = 'upserted' returning old.n, new.n, new.t$$);
-- from one partition to another
select alike('create table rp (k int, n int, t text) partition by list (k)');
select alike('create table rp1 partition of rp for values in (1)');
select alike('create table rp2 partition of rp for values in (2)');
select alike($$insert into rp select g % 2 + 1, g, 'p' from generate_series(1, 10) g returning old, new$$);
select alike($$update rp set k = 3 - k, t = repeat('q', n) where n < 5 returning old.*, new.*, old.tableoid::regclass::text ~ '1$', new.tableoid::regclass::text ~ '1$'$$);
select alike($$merge into rp using (values (5), (6)) s (n) on rp.n = s.n
	when matched and s.n = 5 then update set k = 3 - k when matched then delete returning merge_action(), old.*, new.*$$);
select alike('select count(*), sum(id), sum(n), sum(length(t)) from r');
select alike('select id, n from r where n > 1000 or n < 3 order by n, id');

-- virtual columns: computed when read, from each version
select alike($$create table v (id int primary key, a int, b int generated always as (a * 2) virtual, t text, l int generated always as (length(t)) virtual)$$);
select alike($$insert into v (id, a, t) select g, g, repeat('v', g) from generate_series(1, 30) g$$);
select alike($$update v set a = a + 1, t = t || repeat('w', 2000) where id < 3 returning old.b, new.b, old.l, new.l$$);
select alike('update v set b = 1');
select alike('alter table v add column c int generated always as (a + 100) virtual');
select alike('alter table v alter column c set expression as (a - 100)');
select alike('select id, a, b, l, c from v where b < 8 or c > -72 order by id');
select alike('alter table v add check (b < 1000)');
select alike('update v set a = 600 where id = 9');
select alike('insert into v (id, a) values (10, 1) on conflict (id) do update set a = -5 returning old.b, new.b, new.c');
-- what an open snapshot sees
begin isolation level repeatable read;
set local search_path = in_zheap;
declare c cursor for select id, b, l from v where id in (3, 4) order by id;
update v set a = a * 10, t = '';
fetch all from c;
rollback;

-- WITHOUT OVERLAPS, and a foreign key for periods
select alike('create table w (id int4range, during daterange, n int, primary key (id, during without overlaps))');
select alike('create table wf (id int4range, during daterange, foreign key (id, period during) references w (id, period during))');
select alike($$insert into w values ('[1,2)', '[2001-01-01,2002-01-01)', 1), ('[1,2)', '[2002-01-01,2003-01-01)', 2), ('[2,3)', '[2001-01-01,2003-01-01)', 3)$$);
select alike($$insert into w values ('[1,2)', '[2001-06-01,2001-07-01)', 4)$$);
select alike($$update w set during = '[2001-01-01,2002-02-01)' where n = 1$$);
select alike($$update w set during = '[2001-01-01,2001-12-01)' where n = 1 returning old.during, new.during$$);
select alike($$insert into w values ('[1,2)', '[2001-12-01,2002-01-01)', 5)$$);
select alike($$insert into wf values ('[1,2)', '[2001-03-01,2002-06-01)')$$);
select alike($$insert into wf values ('[2,3)', '[2000-03-01,2002-06-01)')$$);
select alike('delete from w where n = 5');
select alike('delete from w where n = 3');
select alike('select * from w order by n');

-- NOT NULL that is not valid yet
select alike('create table nn (id int, a int)');
select alike('insert into nn values (1, 1), (2, null), (3, 3)');
select alike('alter table nn add constraint nn_a not null a not valid');
select alike('update nn set id = 20 where id = 2');
select alike('insert into nn values (4, null)');
select alike('alter table nn validate constraint nn_a');
select alike('update nn set a = 0 where a is null returning old.a, new.a');
select alike('alter table nn validate constraint nn_a');
select alike('select * from nn order by id');

-- skip scans over dead entries and rows with several, forward and backward
select alike('create table s (x int, y int, n int)');
select alike('create index s_xy on s (x, y)');
select alike('insert into s select g % 5, g, 0 from generate_series(1, 4000) g');
select alike('delete from s where y between 1000 and 1999');
select alike('delete from s where x = 3');
select alike('update s set y = y + 10000 where y between 100 and 140');
select alike('update s set y = y - 10000 where y between 10100 and 10120');
select alike('update s set n = 1 where y % 3 = 0');
select alike('analyze s');
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
select alike('explain (costs off) select x, y, n from s where y between 95 and 130 order by x, y');
select alike('select x, y, n from s where y between 95 and 130 order by x, y');
select alike('select x, y, n from s where y between 998 and 2003 order by x desc, y desc');
select alike('select x, y from s where y = 121 or y = 10121 order by x, y');
select alike('select x, y from s where y in (110, 999, 1500, 10130, 3000) order by x, y');
-- the same before all is committed
begin;
select alike('delete from s where y = 98');
select alike('update s set y = 10002 where y = 99 and x = 4');
savepoint one;
select alike('update s set y = y + 1 where y = 10002');
select alike('select x, y, n from s where y between 95 and 101 or y between 10000 and 10010 order by x, y');
select alike('select x, y, n from s where y between 10000 and 10125 order by x, y');
rollback to one;
select alike('select x, y, n from s where y between 10000 and 10125 order by x, y');
rollback;
select alike('select x, y, n from s where y between 95 and 101 order by x, y');
begin;
set local search_path = in_zheap, public;
declare c scroll cursor for select x, y from s where y between 115 and 118 order by x, y;
fetch 2 from c;
fetch backward 2 from c;
fetch 9 from c;
fetch backward 9 from c;
commit;
select count(*) as findings from zheap.zheap_verify('in_zheap.s');
select nspname, amname from pg_class c join pg_namespace n on n.oid = relnamespace join pg_am a on a.oid = relam
 where nspname ~ '^in_' and relkind = 'r' group by 1, 2 order by 1, 2;
