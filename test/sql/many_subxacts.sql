-- Hundreds of subtransactions of one transaction, and of many, change rows of one page; nobody runs out of slots.
-- Chains of savepoints are generated; the page's rows are checked after each way to end them.
create table mss_t (id int primary key, n int, v text) using zheap;
insert into mss_t select g, 0, 'v' from generate_series(1, 100) g;
select count(distinct (ctid::text::point)[0]) as pages from mss_t;
create view mss as select count(*), sum(n), count(*) filter (where n = id) as own, count(distinct v) as vs from mss_t;
-- 400 nested savepoints, each changing a row
\set ECHO none
begin;
select format('savepoint s%s', g), format('update mss_t set n = n + %s where id = %s', g, g % 100 + 1) from generate_series(1, 400) g
\gexec
\set ECHO all
table mss;
select sum(g) from generate_series(1, 400) g;
rollback to s301;
table mss;
release s201;
table mss;
update mss_t set v = 'outer' where id <= 50;
rollback to s101;
table mss;
commit;
table mss;
select sum(g) from generate_series(1, 100) g;
-- 400 savepoints side by side, every third undone
\set ECHO none
begin;
select 'savepoint s', format('update mss_t set n = %s, v = %L where id = %s', g, 'g' || g, g % 100 + 1),
	case when g % 3 = 0 then 'rollback to s' end, 'release s' from generate_series(1, 400) g
\gexec
\set ECHO all
table mss;
select count(*) from mss_t t where n <> (select max(g) from generate_series(1, 400) g where g % 3 <> 0 and g % 100 + 1 = t.id);
commit;
table mss;
select count(*) from mss_t t where n <> (select max(g) from generate_series(1, 400) g where g % 3 <> 0 and g % 100 + 1 = t.id);
-- the same rolled back as a whole
\set ECHO none
begin;
select 'savepoint s', format('update mss_t set n = -%s where id = %s', g, g % 100 + 1),
	case when g % 3 = 0 then 'rollback to s' end, 'release s' from generate_series(1, 400) g
\gexec
\set ECHO all
table mss;
rollback;
table mss;
-- one row, 500 subtransactions; inserts and deletes, too
do $$
begin
	for i in 1..500 loop
		begin
			update mss_t set n = i where id = 1;
			insert into mss_t values (1000 + i, i, 'new') on conflict do nothing;
			delete from mss_t where id = 1000 + i - 3;
			if i % 5 = 0 then raise exception 'undo'; end if;
		exception when raise_exception then
			null;
		end;
	end loop;
end $$;
table mss;
select n from mss_t where id = 1;
delete from mss_t where id > 1000;
-- a transaction's subtransactions beside earlier transactions that an open cursor cannot see
begin isolation level repeatable read;
declare c cursor for select sum(n), count(*) from mss_t;
do $$
begin
	for i in 1..350 loop
		begin
			update mss_t set n = n + 1 where id = i % 100 + 1;
			if i % 2 = 0 then raise exception 'undo'; end if;
		exception when raise_exception then
			null;
		end;
	end loop;
end $$;
fetch c;
commit;
table mss;
-- many small transactions, each with subtransactions
do $$
begin
	for t in 1..60 loop
		for i in 1..8 loop
			begin
				update mss_t set n = n + 1 where id = (t * 8 + i) % 100 + 1;
				if i % 4 = 0 then raise exception 'undo'; end if;
			exception when raise_exception then
				null;
			end;
		end loop;
		if t % 3 = 0 then rollback; else commit; end if;
	end loop;
end $$;
table mss;
select min(n) > 0 as sane from mss_t where id > 1;
-- a page so full that there is no room for anything else
create table mss_full (id int, v text) using zheap;
alter table mss_full alter v set storage plain;
insert into mss_full select g, repeat('f', 100) from generate_series(1, 200) g;
begin;
do $$
begin
	for i in 1..350 loop
		begin
			update mss_full set v = repeat(chr(97 + i % 26), 100) where id = i % 60 + 1;
			if i % 7 = 0 then raise exception 'undo'; end if;
		exception when raise_exception then
			null;
		end;
	end loop;
end $$;
select count(*), count(distinct id), count(*) filter (where v <> repeat('f', 100)) as changed,
	count(*) filter (where v <> repeat(left(v, 1), 100)) as mixed from mss_full;
savepoint s;
update mss_full set v = repeat('z', 100);
rollback to s;
select md5(string_agg(v, '' order by id)) from mss_full;
rollback;
select count(*), count(distinct id), count(*) filter (where v <> repeat('f', 100)) as changed from mss_full;
drop view mss;
drop table mss_t, mss_full;
