-- Unique keys: violations found, keys free again after delete, update and rollback, in and across transactions.
-- Each statement ends as on heap; both the table and its index are read afterwards.
\set VERBOSITY terse
create table uni_t (id int primary key, u int unique, v text) using zheap;
insert into uni_t values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, null, 'd'), (5, null, 'e');
insert into uni_t values (1, 10, 'dup');
insert into uni_t values (10, 1, 'dup');
insert into uni_t values (6, 6, 'f'), (6, 7, 'dup in one statement');
insert into uni_t select g, g, 'half' from generate_series(10, 1, -1) g;
update uni_t set u = 2 where id = 1;
update uni_t set id = 2 where id = 1;
update uni_t set id = 1, u = 1 where id = 1;
table uni_t order by id;

-- keys of rows deleted or changed in the same transaction
begin;
delete from uni_t where id = 1;
insert into uni_t values (1, 1, 'again');
update uni_t set v = 'in place' where id = 1;
delete from uni_t where id = 1;
insert into uni_t values (1, 1, 'and again');
commit;
begin;
update uni_t set u = 20 where id = 2;
insert into uni_t values (20, 2, 'took 2');
update uni_t set u = 2 where id = 2;
rollback;
begin;
update uni_t set u = 20 where id = 2;
insert into uni_t values (20, 2, 'took 2');
savepoint s;
delete from uni_t where id = 20;
update uni_t set u = 2 where id = 2;
rollback to s;
select * from uni_t where u in (2, 20) order by id;
rollback;
table uni_t order by id;

-- after rollbacks of inserts, updates and deletes
begin; insert into uni_t values (30, 30, 'x'); rollback;
insert into uni_t values (30, 30, 'y');
begin; delete from uni_t where id = 30; rollback;
insert into uni_t values (31, 30, 'z');
insert into uni_t values (30, 31, 'z');
begin; update uni_t set u = 32 where id = 30; rollback;
insert into uni_t values (32, 32, 'w');
insert into uni_t values (33, 30, 'w');
begin; update uni_t set v = 'in place', u = u where id = 30; rollback;
insert into uni_t values (30, 33, 'w');
begin;
savepoint a;
insert into uni_t values (40, 40, 'a');
rollback to a;
insert into uni_t values (40, 40, 'b');
savepoint b;
insert into uni_t values (40, 41, 'c');
rollback to b;
delete from uni_t where id = 40;
savepoint c;
insert into uni_t values (40, 40, 'd');
commit;
table uni_t order by id;
-- the same key a thousand times
do $$
begin
	for i in 1..1000 loop
		begin
			insert into uni_t values (50, 50, 'round ' || i);
			if i % 2 = 0 then raise exception 'undo'; end if;
			delete from uni_t where id = 50;
		exception when raise_exception then
			null;
		end;
		if i % 10 = 0 then commit; end if;
	end loop;
end $$;
select count(*) from uni_t where u = 50;
insert into uni_t values (50, 50, 'at last');
insert into uni_t values (51, 50, 'too late');
set enable_seqscan = off;
select * from uni_t where u = 50;
select * from uni_t where id = 50;
reset enable_seqscan;
-- a row that moves to and fro between keys
do $$
begin
	for i in 1..300 loop
		update uni_t set u = 50 + i % 3, v = 'moving' where id = 50;
		if i % 7 = 0 then rollback; else commit; end if;
	end loop;
end $$;
select * from uni_t where id = 50;
insert into uni_t values (60, 50, 'x');
insert into uni_t values (61, 51, 'x');
insert into uni_t values (62, 52, 'x');
select id, u from uni_t where u between 50 and 52 order by u;

-- building a unique index over duplicates, past and present
create table uni_b (id int, k int) using zheap;
insert into uni_b select g, g from generate_series(1, 100) g;
update uni_b set k = 1 where id = 2;
create unique index uni_bk on uni_b (k);
update uni_b set k = 2 where id = 2;
begin; insert into uni_b values (101, 1); rollback;
delete from uni_b where id = 3;
insert into uni_b values (103, 3);
create unique index uni_bk on uni_b (k);
insert into uni_b values (200, 3);
select count(*), count(distinct k) from uni_b;
alter table uni_b add constraint uni_pk primary key (id);
alter table uni_b add constraint uni_k unique (id, k);
begin;
update uni_b set id = 1 where id = 2;
rollback;
drop index uni_bk;
begin;
update uni_b set k = 7;
update uni_b set k = id;
create unique index uni_bk on uni_b (k);
insert into uni_b values (300, 300);
savepoint s;
insert into uni_b values (301, 300);
rollback to s;
commit;
select count(*), sum(k) from uni_b;
drop table uni_t, uni_b;
