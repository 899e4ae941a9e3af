-- What is new in 17, on heap and zheap alike: MERGE with RETURNING and WHEN NOT MATCHED BY SOURCE, index scans with
-- arrays of keys, access methods of partitioned tables.
\getenv testdir PG_ABS_SRCDIR
\set alike :testdir '/include/alike.sql'
\i :alike

-- MERGE: updated in place, moved, with another key; deleted; inserted; left alone
select alike('create table m (id int primary key, n int, t text)');
select alike('create index m_n on m (n)');
select alike($$insert into m select g, g, repeat('t', 50) from generate_series(1, 200) g$$);
select alike($$merge into m using (values (1, 5), (2, 2500), (3, 0), (4, -1), (500, 7)) s (id, n) on m.id = s.id
	when matched and s.n = 0 then delete
	when matched and s.n < 0 then do nothing
	when matched then update set n = m.n + s.n, t = repeat('u', s.n)
	when not matched then insert values (s.id, s.n, 'new')
	returning merge_action(), s.n, m.id, m.n, length(m.t)$$);
select alike($$merge into m using (select g as id from generate_series(10, 600) g) s on m.id = s.id
	when not matched by source and m.id = 1 then delete
	when not matched by source then update set n = m.n - 1000
	when matched and m.id > 195 then update set id = m.id + 1000
	returning merge_action(), s.id, m.id, m.n$$);
-- a second change of a row by the same command
select alike($$merge into m using (values (20), (20)) s (id) on m.id = s.id
	when matched then update set n = 0 returning merge_action(), m.id$$);
select alike($$merge into m using (values (7)) s (id) on m.id = s.id
	when not matched by source and m.id > 1100 then delete
	when matched then update set n = 77 returning merge_action(), m.*$$);
select alike('with changed as (merge into m using (values (30)) s (id) on m.id = s.id when matched then delete returning m.id, m.n)
	select * from changed');
select alike($$select count(*), sum(id), sum(n), sum(length(t)) from m$$);
select alike($$select id, n from m where n < 0 or n > 200 order by n, id$$);

-- arrays of keys, forward and backward, over dead entries and rows with several
select alike('create table a (x int, y int, n int)');
select alike('create index a_xy on a (x, y)');
select alike('insert into a select g % 10, g / 10, 0 from generate_series(0, 1999) g');
select alike('delete from a where y % 7 = 3');
select alike('update a set y = y + 500 where x = 4 and y < 40');
select alike('update a set y = y - 500 where x = 4 and y between 500 and 519');
select alike('update a set n = n + 1 where y % 2 = 0');
select alike('analyze a');
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
select alike($$explain (costs off) select x, y, n from a where x = any ('{4,8,1}') and y = any ('{3,10,11,12,505,530}') order by x, y$$);
select alike($$select x, y, n from a where x = any ('{4,8,1}') and y = any ('{3,10,11,12,505,530}') order by x, y$$);
select alike($$select x, y, n from a where x = any ('{4,8,1}') and y = any ('{3,10,11,12,505,530}') order by x desc, y desc$$);
select alike($$select x, y from a where x in (4, 5) and y in (10, 25, 524, 525) order by x, y$$);
-- in a cursor that turns round
begin;
set local search_path = in_zheap, public;
declare c scroll cursor for select x, y, n from a where x = any ('{4,8}') and y = any ('{9,11,12,530}') order by x, y;
fetch 3 from c;
fetch backward 2 from c;
fetch 9 from c;
fetch backward 9 from c;
commit;
reset enable_seqscan;
reset enable_sort;

-- bitmap scans in parallel
select alike('create table b (x int, n int, t text)');
select alike('create index b_x on b (x)');
select alike($$insert into b select g % 50, g, repeat('b', 100) from generate_series(1, 5000) g$$);
select alike('delete from b where n % 11 = 0');
select alike('update b set x = x + 100 where n % 13 = 0');
select alike('update b set x = x - 100 where n % 26 = 0');
select alike('analyze b');
select alike('alter table b set (parallel_workers = 2)');
set enable_bitmapscan = on;
set enable_indexscan = off;
set enable_seqscan = off;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select alike('explain (costs off) select count(*), sum(n), sum(x) from b where x between 5 and 30 or x > 120');
select alike('select count(*), sum(n), sum(x) from b where x between 5 and 30 or x > 120');
set work_mem = '64kB';
select alike('select count(*), sum(n), sum(x) from b where x between 5 and 30 or x > 120');
reset work_mem;
reset enable_seqscan;
reset enable_indexscan;

-- a partitioned table's access method is its new partitions'
create table p (id int, n int) partition by range (id) using zheap;
create table p1 partition of p for values from (0) to (10);
create table p2 partition of p for values from (10) to (20) using heap;
alter table p set access method heap;
create table p3 partition of p for values from (20) to (30);
alter table p set access method zheap;
create table p4 partition of p for values from (30) to (40);
set default_table_access_method = heap;
alter table p set access method default;
create table p5 partition of p for values from (40) to (50);
reset default_table_access_method;
insert into p select g, g from generate_series(0, 49) g;
update p set id = (id + 10) % 50;
select relname, amname, (select count(*) || ' ' || sum(id) || ' ' || sum(n) from p where p.tableoid = c.oid)
  from pg_class c left join pg_am a on a.oid = relam where relname ~ '^p[1-5]?$' and relkind in ('r', 'p') order by 1;
drop table p;
select nspname, amname from pg_class c join pg_namespace n on n.oid = relnamespace join pg_am a on a.oid = relam
 where nspname ~ '^in_' and relkind = 'r' group by 1, 2 order by 1, 2;
