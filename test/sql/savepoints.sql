-- Savepoints of every shape: nested, released, rolled back, repeated; the same rows changed on each level.
-- The table is printed after each step, before and after the end of the transaction.
create table sav_t (id int primary key, n int, v text) using zheap;
create index sav_v on sav_t (v);
insert into sav_t select g, 0, 'v' || g from generate_series(1, 5) g;
create view sav as select string_agg(format('%s:%s:%s', id, n, v), ' ' order by id) from sav_t;
begin;
update sav_t set n = 1 where id = 1;
savepoint a;
update sav_t set n = 2 where id = 1;
savepoint b;
update sav_t set n = 3 where id = 1;
table sav;
rollback to b;
table sav;
update sav_t set n = 4 where id = 1;
rollback to b;
rollback to b;
table sav;
release b;
update sav_t set n = n + 10 where id = 1;
table sav;
rollback to a;
table sav;
update sav_t set n = 5 where id in (1, 2);
release a;
table sav;
commit;
table sav;
-- released into the parent, which is then rolled back; and the other way round
begin;
savepoint a;
insert into sav_t values (6, 6, 'six');
savepoint b;
update sav_t set n = 66 where id = 6;
delete from sav_t where id = 5;
release b;
table sav;
rollback to a;
table sav;
insert into sav_t values (6, 7, 'six again');
savepoint b;
delete from sav_t where id = 6;
savepoint c;
insert into sav_t values (6, 8, 'six once more');
release c;
table sav;
rollback to b;
table sav;
commit;
table sav;
-- the same name, again and again
begin;
savepoint x;
update sav_t set n = 101 where id = 2;
savepoint x;
update sav_t set n = 102 where id = 2;
savepoint x;
update sav_t set n = 103 where id = 2;
rollback to x;
table sav;
release x;
rollback to x;
table sav;
release x;
rollback to x;
table sav;
rollback;
-- insert, update, delete of one row over levels, in all orders of rollback
begin;
savepoint s1;
insert into sav_t values (10, 1, 'ten');
savepoint s2;
update sav_t set v = 'ten changed' where id = 10;
savepoint s3;
update sav_t set id = 11 where id = 10;
savepoint s4;
delete from sav_t where id = 11;
table sav;
rollback to s4; table sav;
rollback to s3; table sav;
rollback to s2; table sav;
rollback to s1; table sav;
rollback;
begin;
delete from sav_t where id = 1;
savepoint s1;
insert into sav_t values (1, 1, 'one anew');
savepoint s2;
delete from sav_t where id = 1;
savepoint s3;
insert into sav_t values (1, 1, 'one anew again');
rollback to s3; table sav;
rollback to s2; table sav;
rollback to s1; table sav;
insert into sav_t values (1, 2, 'one for good');
commit;
table sav;
-- longer, shorter and null, on the way down and up
begin;
update sav_t set v = repeat('long', 10);
savepoint a;
update sav_t set v = '';
savepoint b;
update sav_t set v = null;
savepoint c;
update sav_t set v = repeat('longer', 10), n = null;
select sum(length(v)), count(n) from sav_t;
rollback to c;
select count(*), count(v), count(n) from sav_t;
rollback to b;
select count(*), count(v), sum(length(v)) from sav_t;
rollback to a;
select count(*), count(v), sum(length(v)) from sav_t;
rollback;
table sav;
-- errors
begin;
update sav_t set n = n + 1;
savepoint a;
insert into sav_t values (1, 1, 'duplicate');
table sav;
rollback to a;
update sav_t set n = n + 1;
savepoint b;
select 1 / (n - n) from sav_t;
rollback to b;
insert into sav_t values (7, 7, 'seven');
savepoint c;
update sav_t set id = 1 where id = 7;
rollback to c;
update sav_t set n = 70 where id = 7;
commit;
table sav;
-- and chain
begin;
update sav_t set n = 1000 where id = 7;
savepoint a;
commit and chain;
update sav_t set n = n + 1 where id = 7;
savepoint a;
delete from sav_t where id = 7;
rollback and chain;
update sav_t set n = n + 1 where id = 7;
commit;
table sav;
-- psql's own savepoints
\set ON_ERROR_ROLLBACK on
begin;
insert into sav_t values (7, 7, 'duplicate');
update sav_t set n = 8 where id = 7;
insert into sav_t values (7, 7, 'duplicate');
insert into sav_t values (8, 8, 'eight');
commit;
\set ON_ERROR_ROLLBACK off
table sav;
-- through the indexes
set enable_seqscan = off; set enable_bitmapscan = off;
select id, n from sav_t where v = 'eight';
select count(*) from sav_t where v between 'a' and 'z';
select id, v from sav_t where id > 0 order by id;
reset all;

-- deep: 60 levels, each changing the same row and one of its own, then every second level undone
\set ECHO none
begin;
select format('savepoint l%s', g), format('update sav_t set n = %s where id = 1', g),
	format('insert into sav_t values (%s, %s, %L)', 1000 + g, g, 'level') from generate_series(1, 60) g
\gexec
\set ECHO all
select n, (select count(*) from sav_t where v = 'level') from sav_t where id = 1;
rollback to l40;
select n, (select count(*) from sav_t where v = 'level') from sav_t where id = 1;
update sav_t set n = -1 where id = 1;
release l30;
select n, (select count(*) from sav_t where v = 'level') from sav_t where id = 1;
rollback to l20;
select n, (select count(*) from sav_t where v = 'level') from sav_t where id = 1;
commit;
select n, (select count(*) from sav_t where v = 'level') from sav_t where id = 1;
drop view sav;
drop table sav_t;
