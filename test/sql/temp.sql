-- Temporary tables: their undo is the backend's own.  Rollback, savepoints, ON COMMIT, cursors, indexes, many pages; then two
-- tables, one of them permanent, in one transaction.  Aborted rows are put back by the next transaction, whatever it begins with.
create temp table tmp_t (id int primary key, n int, s text) using zheap;
insert into tmp_t select i, i, repeat('x', i % 50) from generate_series(1, 1000) i;
select count(*), sum(n), sum(length(s)) from tmp_t;

-- rolled back as a whole
begin;
update tmp_t set n = n + 1000000, s = s || 'longer than before';
delete from tmp_t where id % 3 = 0;
insert into tmp_t select i, -1, 'new' from generate_series(1001, 1100) i;
select count(*), sum(n), sum(length(s)) from tmp_t;
rollback;
select count(*), sum(n), sum(length(s)) from tmp_t;
-- twice in a row, and with a transaction in between that sees no such table
begin;
update tmp_t set n = -1;
rollback;
begin;
update tmp_t set n = -2;
rollback;
select txid_current() > 0;
select txid_current() > 0;
update tmp_t set n = n + 1 where id <= 10;
select count(*), sum(n), min(n) from tmp_t;

-- savepoints
begin;
update tmp_t set n = 0 where id <= 500;
savepoint a;
update tmp_t set n = 1 where id <= 500;
delete from tmp_t where id > 900;
savepoint b;
insert into tmp_t select i, 0, 'b' from generate_series(2001, 2010) i;
update tmp_t set s = 'b' where id < 10;
select count(*), sum(n) from tmp_t;
rollback to b;
select count(*), sum(n), sum(length(s)) from tmp_t;
rollback to a;
select count(*), sum(n), sum(length(s)) from tmp_t;
savepoint c;
update tmp_t set n = 2 where id <= 5;
release c;
commit;
select count(*), sum(n), sum(length(s)) from tmp_t;
-- what is committed stays, what was rolled back in it is gone, also for the transaction after
begin;
savepoint a;
update tmp_t set n = 77;
rollback to a;
commit;
begin;
update tmp_t set n = n + 1 where id = 1;
commit;
select count(*), sum(n), sum(length(s)) from tmp_t;
-- the same row, over and over
do $$
begin
	for i in 1 .. 300 loop
		begin
			update tmp_t set n = i where id = 7;
			if i % 3 = 0 then
				raise exception 'no';
			end if;
		exception when raise_exception then null;
		end;
	end loop;
end $$;
select n from tmp_t where id = 7;

-- a cursor sees the table as it was when it was opened
begin;
declare c scroll cursor for select id, n from tmp_t where id <= 5 order by id;
fetch 2 from c;
update tmp_t set n = 99 where id <= 5;
savepoint a;
delete from tmp_t where id <= 5;
fetch 1 from c;
rollback to a;
fetch 10 from c;
fetch backward 10 from c;
select id, n from tmp_t where id <= 5 order by id;
declare d cursor with hold for select id, n from tmp_t where id <= 3 order by id;
commit;
update tmp_t set n = 100 where id <= 3;
fetch all from d;
close d;
begin;
declare c cursor for select * from tmp_t where id <= 5 order by id for update;
fetch 1 from c;
update tmp_t set n = n + 1 where current of c;
fetch 1 from c;
delete from tmp_t where current of c;
rollback;
select id, n from tmp_t where id <= 3 order by id;

-- together with a table that is not temporary
create table tmp_p (id int primary key, n int) using zheap;
insert into tmp_p select i, i from generate_series(1, 100) i;
begin;
update tmp_p set n = 0;
update tmp_t set n = 0;
savepoint a;
delete from tmp_p;
delete from tmp_t;
rollback to a;
update tmp_p set n = tmp_t.n + 5 from tmp_t where tmp_t.id = tmp_p.id and tmp_p.id < 50;
update tmp_t set n = tmp_p.n + 5 from tmp_p where tmp_t.id = tmp_p.id and tmp_p.id < 50;
select sum(n) from tmp_p;
select sum(n) from tmp_t;
rollback;
select sum(n) from tmp_p;
select sum(n) from tmp_t;
drop table tmp_p;

-- keys, unique violations, ON CONFLICT, moved rows
insert into tmp_t values (1, 1, '');
insert into tmp_t values (1, 1, ''), (5000, 1, '') on conflict (id) do update set s = 'conflict' returning id, s;
begin;
update tmp_t set id = id + 10000 where id between 100 and 200;
select count(*) from tmp_t where id between 10100 and 10200;
rollback;
select count(*) from tmp_t where id between 100 and 200;
set enable_seqscan = off;
set enable_bitmapscan = off;
select count(*), sum(n) from tmp_t where id between 100 and 200;
reset enable_seqscan;
reset enable_bitmapscan;
begin;
update tmp_t set n = 1;
create index tmp_i on tmp_t (n);
rollback;
create index tmp_i on tmp_t (n);
select count(*) from tmp_t where n = 1;
-- toasted values
begin;
update tmp_t set s = (select string_agg(md5(i::text), '') from generate_series(1, 500) i) where id = 3;
select length(s) from tmp_t where id = 3;
rollback;
select length(s) from tmp_t where id = 3;

-- made, emptied, dropped in transactions that fail or not
begin;
create temp table tmp_u (a int) using zheap;
insert into tmp_u select generate_series(1, 1000);
update tmp_u set a = a + 1;
rollback;
select * from tmp_u;
begin;
delete from tmp_t where id > 10;
truncate tmp_t;
insert into tmp_t values (1, 2, 'truncated');
rollback;
select count(*), sum(n) from tmp_t;
begin;
update tmp_t set n = -5;
drop table tmp_t;
rollback;
select count(*), sum(n) from tmp_t;
begin;
update tmp_t set n = -5;
alter table tmp_t add column x int default 5, alter column n type bigint;
update tmp_t set x = 6;
rollback;
select count(*), sum(n) from tmp_t;
begin;
savepoint a;
update tmp_t set n = -5;
rollback to a;
alter table tmp_t alter column n type bigint;
commit;
select count(*), sum(n) from tmp_t;
vacuum tmp_t;
analyze tmp_t;
select count(*), sum(n) from tmp_t;

-- the file was another table's when the rewrite wrote to it: what is rolled back after that is undone all the same
begin;
alter table tmp_t alter n type int;
savepoint a;
update tmp_t set n = -5;
rollback to a;
commit;
select count(*), sum(n) from tmp_t;
begin;
alter table tmp_t add column y float default random();
savepoint a;
delete from tmp_t;
rollback to a;
commit;
select count(*), sum(n) from tmp_t;
begin;
alter table tmp_t set access method heap;
alter table tmp_t set access method zheap;
savepoint a;
insert into tmp_t (id, n) values (-1, 1000000);
rollback to a;
commit;
select count(*), sum(n) from tmp_t;
begin;
update tmp_t set n = n + 1;
update tmp_t set n = n - 1;
cluster tmp_t using tmp_t_pkey;
do $$ begin update tmp_t set n = -5; raise exception 'rolled back'; exception when raise_exception then null; end $$;
commit;
select count(*), sum(n) from tmp_t;

-- ON COMMIT
create temp table tmp_e (id int primary key, n int) using zheap on commit delete rows;
begin;
insert into tmp_e select i, i from generate_series(1, 500) i;
update tmp_e set n = 0;
savepoint a;
delete from tmp_e;
rollback to a;
select count(*), sum(n) from tmp_e;
commit;
select count(*) from tmp_e;
begin;
insert into tmp_e values (1, 1);
rollback;
begin;
insert into tmp_e values (1, 2);
select * from tmp_e;
commit;
select * from tmp_e;
begin;
create temp table tmp_f (id int) using zheap on commit drop;
insert into tmp_f values (1);
update tmp_f set id = 2;
savepoint a;
update tmp_f set id = 3;
rollback to a;
select * from tmp_f;
commit;
select * from tmp_f;
begin;
create temp table tmp_g (id int) using zheap on commit preserve rows;
insert into tmp_g values (1);
commit;
select * from tmp_g;
create temp table tmp_h using zheap on commit delete rows as select 1 as a;
select * from tmp_h;
begin;
update tmp_g set id = 2;
prepare transaction 'tmp_p';

-- undo of a temporary table never keeps a transaction from being prepared
begin;
update tmp_g set id = 3;
rollback;
create table tmp_q (a int) using zheap;
begin;
insert into tmp_q values (1);
prepare transaction 'tmp_q';
commit prepared 'tmp_q';
select * from tmp_q, tmp_g;
drop table tmp_q;

-- foreign keys and AFTER ROW triggers, immediate and deferred, see old and new rows of it
create temp table tmp_k (id int primary key, n int) using zheap;
create temp table tmp_l (id int references tmp_k on update cascade on delete cascade deferrable initially deferred) using zheap;
create temp table tmp_m (seq serial, what text) using zheap;
create function pg_temp.tmp_note() returns trigger language plpgsql as
	'begin insert into tmp_m (what) values (tg_op || '' '' || old::text || '' '' || new::text); return null; end';
create trigger a after update on tmp_k for each row execute function pg_temp.tmp_note();
create constraint trigger b after update on tmp_k deferrable initially deferred for each row execute function pg_temp.tmp_note();
insert into tmp_k values (1, 1), (2, 2), (3, 3);
insert into tmp_l values (1), (2), (2);
begin;
update tmp_k set n = n + 10;
savepoint a;
update tmp_k set n = n + 100, id = id + 10 where id > 1;
rollback to a;
update tmp_k set n = n + 1000 where id = 1;
delete from tmp_k where id = 2;
insert into tmp_l values (7);
savepoint b;
set constraints all immediate;
rollback to b;
delete from tmp_l where id = 7;
commit;
select what from tmp_m order by seq;
select * from tmp_k order by id;
select * from tmp_l order by id;
-- serial columns, checks
create temp table tmp_s (id serial, n int default 5, check (n > 0)) using zheap;
insert into tmp_s default values;
insert into tmp_s (n) values (0);
update tmp_s set n = n + 1 returning *;
select relpersistence, count(*) from pg_class where relname ~ '^tmp_[a-z]$' group by 1;
discard temp;
select relpersistence, count(*) from pg_class where relname ~ '^tmp_[a-z]$' group by 1;
-- what was rolled back stays so in a table whose DROP, TRUNCATE or rewrite is undone as well, where another one was used meanwhile
create temp table tmp_n (id int, n int) using zheap;
create temp table tmp_o (id int, n int) using zheap;
insert into tmp_n select i, i from generate_series(1, 300) i;
insert into tmp_o select * from tmp_n;
create function pg_temp.tmp_undone(what text) returns table (ids bigint, sum_n bigint) language plpgsql as $$
begin
	begin
		execute what;
		perform from tmp_o;
		update tmp_o set n = n where id = 1;
		raise exception 'undo it';
	exception when raise_exception then null;
	end;
	return query select count(*), sum(n) from tmp_n;
end $$;
begin; update tmp_n set n = 0; insert into tmp_n values (0, 0); delete from tmp_n where id < 9; update tmp_o set n = 0; rollback;
begin; drop table tmp_n; select count(*), sum(n) from tmp_o; rollback;
select count(*), sum(n) from tmp_n;
begin; update tmp_n set n = 0; insert into tmp_n values (0, 0); delete from tmp_n where id < 9; update tmp_o set n = 0; rollback;
begin; truncate tmp_n; insert into tmp_n values (1, 1); update tmp_o set n = n + 1 where id = 1; rollback;
select count(*), sum(n) from tmp_n;
begin; update tmp_n set n = 0; insert into tmp_n values (0, 0); delete from tmp_n where id < 9; rollback;
select * from pg_temp.tmp_undone('drop table tmp_n');
begin; update tmp_n set n = 0; insert into tmp_n values (0, 0); delete from tmp_n where id < 9; rollback;
select * from pg_temp.tmp_undone('truncate tmp_n');
begin; update tmp_n set n = 0; insert into tmp_n values (0, 0); delete from tmp_n where id < 9; rollback;
select * from pg_temp.tmp_undone('alter table tmp_n alter n type bigint');
begin; update tmp_n set n = 0; insert into tmp_n values (0, 0); delete from tmp_n where id < 9; rollback;
select * from pg_temp.tmp_undone('drop table tmp_n; create temp table tmp_n as select 1 as n');
begin; savepoint a; update tmp_n set n = 0; rollback to a; savepoint b; truncate tmp_n; insert into tmp_n select i, i from generate_series(1, 9) i; select count(*), sum(n) from tmp_n; rollback to b; commit;
select count(*), sum(n) from tmp_n;
select count(*), sum(n) from tmp_o;
