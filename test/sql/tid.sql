-- TID scans, TID range scans and ctid in all its uses.
-- TIDs come from the table itself, so no place of a row is written down here.
create table tid_t (id int, v text) using zheap;
insert into tid_t select g, repeat('t', 100) || g from generate_series(1, 500) g;
create function tid_of(int) returns tid language sql stable as 'select ctid from tid_t where id = $1';
explain (costs off) select id from tid_t where ctid = '(0,1)';
explain (costs off) select id from tid_t where ctid = any (array['(0,1)', '(1,1)']::tid[]);
explain (costs off) select id from tid_t where ctid >= '(1,0)' and ctid < '(2,0)';
select count(*) from tid_t a where exists (select from tid_t b where b.ctid = a.ctid and b.id = a.id);
select id from tid_t where ctid = tid_of(77);
select id from tid_t where ctid = any (array[tid_of(5), tid_of(5), tid_of(300)]) order by id;
select id from tid_t where ctid = tid_of(1) or ctid = tid_of(2) order by id;
select id from tid_t where ctid = '(10000,1)';
select id from tid_t where ctid = '(0,2000)';
select id from tid_t where ctid = '(0,0)';
select id from tid_t where ctid in ('(4294967295,65535)', '(0,65535)');
select count(*) from tid_t where ctid < '(1,0)' or ctid >= '(1,0)';
select (select count(*) from tid_t where ctid < '(2,0)') + (select count(*) from tid_t where ctid >= '(2,0)') as sum;
select count(*) from tid_t where ctid > '(0,0)' and ctid <= (select max(ctid) from tid_t);
select count(*) from tid_t where ctid > (select max(ctid) from tid_t);
select id from tid_t where ctid <= tid_of(3) order by id desc;
-- through the rows of a join
set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = on;
create temp table tid_list as select ctid as t, id from tid_t where id % 100 = 0;
select l.id, t.id from tid_list l join tid_t t on t.ctid = l.t order by 1;
reset all;
-- update and delete by TID
update tid_t set v = 'by tid' where ctid = tid_of(10);
select id, v from tid_t where v = 'by tid';
delete from tid_t where ctid = tid_of(11);
delete from tid_t where ctid in (select ctid from tid_t order by id limit 5);
select count(*), min(id) from tid_t;
update tid_t set v = 'ranged' where ctid <= tid_of(20) and id > 11;
select count(*) from tid_t where v = 'ranged';
-- duplicates removed by TID, the classic
insert into tid_t select * from tid_t where id > 490;
delete from tid_t a using tid_t b where a.id = b.id and a.ctid > b.ctid;
select count(*), count(distinct id) from tid_t;
-- what a TID names after delete, update and rollback
begin;
create temp table tid_one on commit drop as select ctid as t from tid_t where id = 50;
delete from tid_t where id = 50;
select id from tid_t where ctid = (select t from tid_one);
rollback;
create temp table tid_one as select ctid as t from tid_t where id = 50;
begin;
delete from tid_t where id = 50;
savepoint s;
insert into tid_t values (5000, 'may take any place');
select count(*) from tid_t where ctid = (select t from tid_one) and id = 50;
rollback;
select id from tid_t where ctid = (select t from tid_one);
begin;
insert into tid_t values (6000, 'rolled back');
create temp table tid_two as select ctid as t from tid_t where id = 6000;
savepoint s;
update tid_t set v = 'changed' where id = 6000;
rollback to s;
select id, v from tid_t where ctid = (select t from tid_two);
commit;
select id, v from tid_t where ctid = (select t from tid_two);
-- sorted, grouped, cast, in an index expression's place
select count(distinct ctid) = count(*) as distinct from tid_t;
select bool_and(ctid > lag) from (select ctid, lag(ctid) over (order by ctid) from tid_t) s where lag is not null;
select id from tid_t where ctid::text = tid_of(60)::text;
-- backward and forward through a cursor of a TID range
begin;
declare c scroll cursor for select id from tid_t where ctid >= '(0,0)' and id between 40 and 45;
fetch 3 c;
fetch backward 2 c;
fetch all c;
fetch backward all c;
commit;
drop table tid_t, tid_list, tid_one, tid_two;
drop function tid_of;
