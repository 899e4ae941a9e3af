-- Updates that cannot stay in place: of indexed columns, and of rows that outgrow their page.
-- Rows are looked up through every index and by a scan, after commits and rollbacks.
create table mov_t (id int primary key, k int, u int unique, t text, body text) using zheap;
create index mov_k on mov_t (k);
create index mov_expr on mov_t (lower(t));
create index mov_part on mov_t (k) where u > 500;
insert into mov_t select g, g % 100, g, 'T' || g, repeat('b', 20) from generate_series(1, 1000) g;
-- the number of rows with k in a range, found in four ways
create function mov_count(lo int, hi int) returns table (seq bigint, idx bigint, bitmap bigint, part bigint) language plpgsql as $$
begin
	set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off;
	execute 'select count(body) from mov_t where k between $1 and $2' into seq using lo, hi;
	set local enable_seqscan = off; set local enable_indexscan = on;
	execute 'select count(body) from mov_t where k between $1 and $2' into idx using lo, hi;
	set local enable_indexscan = off; set local enable_bitmapscan = on;
	execute 'select count(body) from mov_t where k between $1 and $2' into bitmap using lo, hi;
	set local enable_indexscan = on; set local enable_bitmapscan = off;
	execute 'select count(body) from mov_t where k between $1 and $2 and u > 500' into part using lo, hi;
	return next;
end $$;
select * from mov_count(10, 19);
update mov_t set k = k + 1000 where k between 10 and 14;
select * from mov_count(10, 19);
select * from mov_count(1010, 1019);
-- and back: the same keys again
update mov_t set k = k - 1000 where k >= 1000;
select * from mov_count(10, 19);
select * from mov_count(1010, 1019);
-- to and fro in one transaction
begin;
update mov_t set k = -k;
update mov_t set k = -k where id % 2 = 0;
select * from mov_count(10, 19);
select * from mov_count(-19, -10);
update mov_t set k = -k where k < 0;
select * from mov_count(10, 19);
commit;
select * from mov_count(10, 19);
-- rolled back
begin;
update mov_t set k = k + 1;
update mov_t set t = upper(t) || id, body = 'x';
delete from mov_t where k = 15;
select * from mov_count(10, 19);
rollback;
select * from mov_count(10, 19);
begin;
update mov_t set k = 5000 where id <= 10;
savepoint s;
update mov_t set k = 6000 where id <= 20;
update mov_t set k = 7000, body = 'in place, then gone' where id <= 5;
select * from mov_count(5000, 7000);
rollback to s;
select * from mov_count(5000, 7000);
update mov_t set body = 'kept' where id <= 3;
commit;
select * from mov_count(5000, 7000);
select id, k, body from mov_t where id <= 4 order by id;

-- unique keys: shifted, swapped, freed and taken
update mov_t set u = u + 10000;
update mov_t set u = u - 10000;
update mov_t set u = u + 1 where id = 500;
update mov_t set u = 20000 where id = 500;
update mov_t set u = 500 where id = 501;
update mov_t set u = 501 where id = 500;
select id, u from mov_t where u in (500, 501, 20000) order by id;
begin;
update mov_t set u = 500 where id = 502;
rollback;
begin;
delete from mov_t where u = 500;
update mov_t set u = 500 where id = 502;
select id from mov_t where u = 500;
rollback;
select id from mov_t where u = 500;
update mov_t set id = id + 1 where id = 1000;
\set VERBOSITY terse
update mov_t set id = id + 1;
\set VERBOSITY default
select count(*), min(id), max(id), sum(id) from mov_t;

-- expression index
set enable_seqscan = off;
select id, t from mov_t where lower(t) = 't77';
update mov_t set t = 'Other' where t = 'T77';
select id, t from mov_t where lower(t) = 't77';
select id, t from mov_t where lower(t) = 'other';
reset enable_seqscan;
-- into and out of the partial index
select count(*) from mov_t where u > 500;
update mov_t set u = u + 100000 where u <= 500;
update mov_t set u = u - 200000 where u between 501 and 600;
select * from mov_count(0, 100);

-- rows outgrow their pages, one after the other, then all
create table mov_g (id int primary key, n int default 0, body text) using zheap;
alter table mov_g alter body set storage plain;
insert into mov_g select g, 0, 'small' from generate_series(1, 600) g;
update mov_g set body = repeat('g', 2000) where id = 1;
update mov_g set body = repeat('g', 7000) where id in (2, 3, 4);
update mov_g set n = n + 1;
select n, length(body), count(*) from mov_g group by 1, 2 order by 2;
begin;
update mov_g set body = repeat('r', 1000), n = n + 1;
update mov_g set n = n + 1 where id % 2 = 0;
delete from mov_g where id % 10 = 0;
select n, length(body), count(*) from mov_g group by 1, 2 order by 1, 2;
rollback;
select n, length(body), count(*) from mov_g group by 1, 2 order by 2;
begin;
update mov_g set body = repeat('k', 1000), n = n + 1;
savepoint s;
update mov_g set body = repeat('s', 3000), n = n + 1 where id <= 50;
rollback to s;
update mov_g set n = n + 10 where id <= 100;
commit;
select n, length(body), count(*) from mov_g group by 1, 2 order by 1, 2;
set enable_seqscan = off; set enable_bitmapscan = off;
select count(*), sum(n) from mov_g where id between 1 and 600;
select id, n, length(body) from mov_g where id in (1, 100, 101, 600) order by id;
reset all;
-- each row moves many times in one transaction
begin;
do $$
begin
	for i in 1..20 loop
		update mov_g set body = repeat('m', 100 + i * 150), n = i where id <= 30;
	end loop;
end $$;
select n, length(body), count(*) from mov_g where id <= 30 group by 1, 2;
commit;
select n, length(body), count(*) from mov_g where id <= 30 group by 1, 2;
select count(*), count(distinct id) from mov_g;
-- rows that move to the page of the last new row leave as much of it free as insertions do
create table mov_f (id int primary key, body text) using zheap with (fillfactor = 50);
create table mov_i (like mov_f) using zheap with (fillfactor = 50);
insert into mov_f select g, repeat('f', 20) from generate_series(1, 500) g;
insert into mov_i select g, repeat('f', 400) from generate_series(1, 500) g;
create temp table mov_old as select distinct (ctid::text::point)[0] as block from mov_f;
update mov_f set body = repeat('f', 400);
select count(*) > 20 as pages_used, sum((n > most)::int) as too_full from
  (select (ctid::text::point)[0] as block, count(*) as n from mov_f group by 1) f,
  (select max(n) as most from (select count(*) as n from mov_i group by (ctid::text::point)[0]) i) i
  where block not in (select block from mov_old);
select count(*), count(distinct id), sum(length(body)) from mov_f;
drop table mov_t, mov_g, mov_f, mov_i, mov_old;
drop function mov_count;
