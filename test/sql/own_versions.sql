-- Rows that one transaction changes again and again, all on one page: each command
-- finds their versions in a chain that grows while it runs.
create table t (id int primary key, n int, v text) using zheap;
create table log (op text, old_n int, new_n int);
create function note() returns trigger language plpgsql as $$
begin
	insert into log values (tg_op, old.n, new.n);
	return null;
end $$;
create view state as
	select count(*) rows, sum(n) n, min(n) min, max(n) max, count(v) v, sum(length(v)) len, sum(id) ids from t;
insert into t select g, 0, 'v' from generate_series(1, 60) g;

-- all, some, all; then as it was
begin;
update t set n = n + 1;
update t set n = n + 1 where id % 2 = 0;
select * from t where id <= 4 order by id;
update t set n = n + 1 where id % 2 = 0;
update t set n = n + 1, v = v || 'x' where id % 3 = 0;
select * from state;
select * from t where id <= 6 order by id;
rollback;
select * from state;
update t set n = n + 1;
select * from state;

-- savepoints in between: a chain for each
begin;
update t set n = n + 10;
update t set n = n + 10 where id > 30;
savepoint a;
update t set n = n + 100, v = repeat(v, id % 5);
update t set n = n + 100 where id % 7 = 0;
delete from t where id % 5 = 0;
savepoint b;
update t set n = -n;
update t set n = n - 1;
select * from state;
rollback to b;
select * from state;
update t set n = n + 1 where id < 20;
update t set n = n + 1 where id < 10;
rollback to a;
select * from state;
update t set n = n + 1;
update t set n = n + 1 where id < 10;
select * from state;
commit;
select * from state;

-- rows that are inserted, changed, deleted, and locked meanwhile; an insertion that
-- has a record of its own, and those that belong to one before
begin;
insert into t select g, 0, null from generate_series(61, 70) g;
update t set n = n + 1 where id > 55;
insert into t values (71, 0, 'one'), (72, 0, 'two');
update t set n = n + 1 where id > 55;
delete from t where id in (62, 64, 71);
insert into t values (71, 5, 'again');
select id from t where id > 68 order by id for update;
update t set n = n + 1 where id > 55;
insert into t select g, 0, null from generate_series(73, 75) g;
update t set n = n + 1 where id > 65;
select * from t where id > 57 order by id;
select * from state;
savepoint c;
update t set n = n * 2 where id > 50;
update t set n = n * 2 where id > 60;
delete from t where id > 70;
rollback to c;
select * from t where id > 68 order by id;
rollback;
select * from state;

-- a cursor sees what was there when it was opened
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
begin;
update t set n = 1000 + id;
update t set n = n + 1000 where id < 30;
declare c cursor for select id, n from t where id > 0 order by id;
fetch 2 c;
update t set n = n + 1000;
update t set n = n + 1000 where id % 2 = 1;
fetch 2 c;
delete from t where id in (5, 6, 31);
move 24 c;
fetch 4 c;
select id, n from t where id in (4, 7, 30, 32) order by id;
rollback;
reset enable_seqscan;
reset enable_bitmapscan;
reset enable_sort;

-- one row, many times
begin;
do $$ begin for i in 1 .. 500 loop update t set n = n + 1 where id = 7; end loop; end $$;
select n from t where id = 7;
savepoint d;
do $$ begin for i in 1 .. 500 loop update t set n = n + 1, v = v || 'y' where id in (7, 8); end loop; end $$;
select n, length(v) from t where id in (7, 8) order by id;
rollback to d;
select n, length(v) from t where id in (7, 8) order by id;
update t set n = n + 1;
select * from state;
rollback;
select * from state;

-- triggers ask for the versions of each row
create trigger note after insert or update or delete on t for each row execute function note();
begin;
update t set n = n + 1;
update t set n = n + 1;
update t set n = n + 1 where id < 5;
delete from t where id < 3;
select op, old_n, new_n, count(*) from log group by 1, 2, 3 order by 1, 2, 3;
rollback;
create constraint trigger late after update on t deferrable initially deferred
	for each row execute function note();
begin;
update t set n = 1;
update t set n = 2 where id < 20;
update t set n = 3 where id < 10;
savepoint e;
update t set n = 4;
rollback to e;
truncate log;
commit;
select op, old_n, new_n, count(*) from log group by 1, 2, 3 order by 1, 2, 3;
drop trigger note on t;
drop trigger late on t;

-- the same with a temporary table
create temporary table tt (id int, n int) using zheap;
insert into tt select g, 0 from generate_series(1, 60) g;
begin;
update tt set n = n + 1;
update tt set n = n + 1 where id < 20;
savepoint f;
update tt set n = n + 1;
update tt set n = n + 1 where id < 10;
select count(*), sum(n), min(n), max(n) from tt;
rollback to f;
update tt set n = n + 1 where id < 30;
select count(*), sum(n), min(n), max(n) from tt;
rollback;
select count(*), sum(n), min(n), max(n) from tt;
begin;
update tt set n = n + 1;
update tt set n = n + 1 where id < 20;
select count(*), sum(n), min(n), max(n) from tt;
commit;
update tt set n = n + 1;
select count(*), sum(n), min(n), max(n) from tt;

-- deferred events of rows that are changed very often: each has its own two versions,
-- and the row as inserted is found below all that came since
create function fill(rounds int, step int) returns void language plpgsql as $$
begin
	for i in 1 .. rounds loop
		update t set n = n + step, v = repeat('z', i % 7) where id between 80 and 83;
	end loop;
end $$;
create view pairs as
	select count(*), count(distinct old_n) olds, min(new_n - old_n) min, max(new_n - old_n) max, max(new_n) last from log where op = 'UPDATE';
create constraint trigger late after insert or update or delete on t deferrable initially deferred
	for each row execute function note();
truncate log;
insert into t select g, (g - 80) * 10000, 'v' from generate_series(80, 82) g;
begin;
select fill(20, 1);
savepoint g;
select fill(50, 1000);
rollback to g;
select fill(4, 1);
set constraints late immediate;
select * from pairs;
set constraints late deferred;
select fill(76, 1);
insert into t values (83, 30000, 'v');
savepoint h;
select fill(30, 1);
release h;
delete from t where id = 83;
commit;
select * from pairs;
select op, old_n, new_n from log where op <> 'UPDATE' order by 1, 2, 3;
drop trigger late on t;
create constraint trigger late after insert on t deferrable initially deferred
	for each row execute function note();
truncate log;
begin;
insert into t values (84, 0, 'v');
do $$ begin for i in 1 .. 2000 loop update t set n = n + 1 where id >= 83; end loop; end $$;
savepoint i;
do $$ begin for i in 1 .. 100 loop update t set n = n + 1 where id >= 83; end loop; end $$;
insert into t values (85, 5, 'v');
do $$ begin for i in 1 .. 100 loop update t set n = n + 1 where id >= 83; end loop; end $$;
release i;
savepoint k;
update t set n = -1 where id >= 83;
rollback to k;
commit;
select * from log order by new_n;
select id, n from t where id >= 83 order by id;

drop view pairs;
drop table t, log cascade;
drop function note, fill;
