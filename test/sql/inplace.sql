-- An update that leaves indexed columns alone happens in place: same TID, no growth, right after every rollback.
-- TIDs before and after are compared; sizes of table and index are compared with the first ones.
create function inp_noise(seed int, len int) returns text language sql immutable as $$
	select left(string_agg(md5(seed || '/' || g), ''), len) from generate_series(1, len / 32 + 1) g
$$;
create table inp_t (id int primary key, n int, s text, f float8, v varchar) using zheap with (fillfactor = 90);
insert into inp_t select g, g, repeat('s', g % 50), g, null from generate_series(1, 1000) g;
create temp table inp_before as select id, ctid as tid from inp_t;
create function inp_moved() returns bigint language sql as
	'select count(*) from inp_t t join inp_before b using (id) where t.ctid <> b.tid';
create temp table inp_size as select pg_relation_size('inp_t') as t, pg_relation_size('inp_t_pkey') as i;
create function inp_grown() returns table (t boolean, i boolean) language sql as
	'select pg_relation_size(''inp_t'') > s.t, pg_relation_size(''inp_t_pkey'') > s.i from inp_size s';

-- same length
update inp_t set n = n + 1;
update inp_t set f = -f, n = -n where id % 2 = 0;
update inp_t set s = translate(s, 's', 't');
select sum(n), sum(f), md5(string_agg(s, ',' order by id)) from inp_t;
select inp_moved(); select * from inp_grown();
-- shorter
update inp_t set s = left(s, 5);
select count(*), sum(length(s)), inp_moved() from inp_t; select * from inp_grown();
-- longer again, into the space that became free
update inp_t set s = s || repeat('u', 20) where id % 3 = 0;
select count(*), sum(length(s)), inp_moved() from inp_t; select * from inp_grown();
-- to null and from null
update inp_t set s = null, v = 'v' || id where id % 5 = 0;
update inp_t set n = null where id % 7 = 0;
select count(*), count(s), count(v), count(n), sum(n), inp_moved() from inp_t; select * from inp_grown();

-- again and again
do $$
begin
	for i in 1..50 loop
		update inp_t set n = coalesce(n, 0) + i, v = 'round ' || i where id % 50 = i % 50;
	end loop;
end $$;
select sum(n), count(v), inp_moved() from inp_t; select * from inp_grown();
-- one row, in as many transactions
do $$
begin
	for i in 1..2000 loop
		update inp_t set n = i where id = 500;
		commit;
	end loop;
end $$;
select n, inp_moved() from inp_t where id = 500; select * from inp_grown();
select id from inp_t where id between 499 and 501 order by id;

-- grow and shrink within a transaction, rolled back: as if nothing had happened
create temp table inp_copy as select * from inp_t;
create function inp_wrong() returns bigint language sql as
	'select count(*) from inp_t t full join inp_copy c using (id) where t is distinct from row(c.*)::inp_t';
select inp_wrong();
begin;
update inp_t set s = '' where id % 2 = 0;
select count(*) from inp_t where s = '';
rollback;
select inp_wrong(), inp_moved();
begin;
update inp_t set s = null, v = null, n = 0;
update inp_t set v = 'now longer than before: ' || id;
select count(*), count(s), sum(length(v)) from inp_t;
rollback;
select inp_wrong(), inp_moved();
begin;
update inp_t set s = repeat('long', 200) where id % 10 = 0;
select count(*), sum(length(s)) from inp_t where id % 10 = 0;
update inp_t set s = 'short' where id % 10 = 0;
rollback;
select inp_wrong(), inp_moved();
begin;
delete from inp_t where id % 2 = 1;
insert into inp_t select g, g, inp_noise(g, 100) from generate_series(1001, 1400) g;
update inp_t set n = n * 2;
select count(*), sum(n) from inp_t;
rollback;
select inp_wrong(), inp_moved();

-- the same in part
begin;
update inp_t set n = 1, s = 'kept' where id <= 100;
savepoint a;
update inp_t set s = repeat('x', 100) where id <= 50;
savepoint b;
update inp_t set s = '' where id <= 25;
delete from inp_t where id <= 10;
savepoint c;
update inp_t set s = 'c' where id between 10 and 60;
select left(s, 5) as s, length(s), count(*) from inp_t where id <= 100 group by 1, 2 order by 1, 2;
rollback to c;
select left(s, 5) as s, length(s), count(*) from inp_t where id <= 100 group by 1, 2 order by 1, 2;
rollback to b;
select left(s, 5) as s, length(s), count(*) from inp_t where id <= 100 group by 1, 2 order by 1, 2;
update inp_t set n = 2 where id <= 30;
rollback to a;
select left(s, 5) as s, length(s), n, count(*) from inp_t where id <= 100 group by 1, 2, 3 order by 1, 2;
update inp_t set s = 'after' where id <= 5;
commit;
select s, n, count(*) from inp_t where id <= 100 group by 1, 2 order by 1;
select inp_wrong(), inp_moved();

-- rows found through the index are the updated ones
set enable_seqscan = off; set enable_bitmapscan = off;
select id, n, s from inp_t where id in (1, 6, 101) order by id;
update inp_t set s = 'by index' where id = 6;
select id, n, s from inp_t where id between 5 and 7 order by id;
reset all;

-- the old value and the new in one statement
update inp_t t set n = o.n + 1000000 from inp_t o where o.id = t.id and t.id = 42
returning t.n - o.n as added;
update inp_t set n = id, f = n where id = 42 returning n = id as n, f <> n as f;
drop table inp_t;
drop table inp_before, inp_size, inp_copy;
drop function inp_moved, inp_grown, inp_noise, inp_wrong;
