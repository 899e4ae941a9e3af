-- Rows in slots live as long as somebody looks at them: while their page changes, after
-- their scan has gone on or ended, and when an error throws everything away.
create table life_t (id int primary key, n int, body text) using zheap;
insert into life_t select g, g, repeat('x', g % 7) || g from generate_series(1, 3000) g;
create table life_log (id int, n int) using zheap;
analyze life_t;

-- a cursor over an index and one over the table, while their pages change
set enable_bitmapscan = off;
begin;
set local enable_seqscan = off;
declare i scroll cursor for select id, n, body from life_t where id between 1 and 40 order by id;
set local enable_seqscan = on;
declare s scroll cursor for select id, n, body from life_t where id % 2 = 0;
fetch 6 i;
fetch 3 s;
update life_t set n = -n, body = body || ' changed' where id in (8, 9, 3000);
delete from life_t where id = 10;
insert into life_t values (0, 0, 'new'), (3001, 1, 'new');
fetch 6 i;
fetch 3 s;
savepoint a;
delete from life_t where id between 11 and 20;
update life_t set id = id + 10000 where id between 21 and 25;
fetch 6 i;
fetch 3 s;
rollback to a;
fetch 6 i;
fetch backward 10 i;
fetch 3 s;
fetch backward 6 s;
select id, n, body from life_t where id between 7 and 12 order by id;
rollback;

-- records outlive the rows that they came from; errors within the loop
do $$
declare r record; last record; sum bigint := 0; failed int := 0;
begin
	for r in select * from life_t where id <= 400 loop
		begin
			update life_t set n = n + 1, body = body || '!' where id = r.id;
			if r.id % 10 = 0 then
				perform 1 / (id - r.id) from life_t where id between r.id - 5 and r.id + 5;
			end if;
		exception when division_by_zero then
			failed := failed + 1;
		end;
		if last is not null then
			sum := sum + last.n * 3 + length(last.body);
		end if;
		last := r;
	end loop;
	raise notice 'sum %, failed %', sum, failed;
end $$;
select count(*), sum(n), sum(length(body)) from life_t;

-- the same page read by many kinds of nodes at once
insert into life_t select id + 5000, n, body from life_t where id <= 500;
update life_t a set n = a.n + b.n, body = b.body from life_t b where a.id = b.id + 5000;
merge into life_t a using (select * from life_t where id <= 600) b on a.id = b.id + 5000
	when matched then update set n = b.n, body = a.body || b.body
	when not matched then insert values (b.id + 5000, b.n, b.body);
select count(*), sum(n), sum(length(body)) from life_t;
select a.id, b.id, a.body = b.body from life_t a, lateral
	(select id, body from life_t b where b.id <= a.id order by b.id desc limit 2) b where a.id between 3 and 5;
with m as materialized (select * from life_t where id < 20), d as (delete from life_t where id < 10 returning *)
	select count(*), sum(m.n) from m left join d using (id);
select count(*) from life_t a where exists (select from life_t b where b.id = a.id + 1 and b.n <> a.n);

-- functions that change the page between two rows
create function life_bump(k int) returns int language plpgsql as $$
begin
	update life_t set n = n + 1, body = body || k where id between k - 1 and k + 2;
	insert into life_log select id, n from life_t where id between k and k + 1;
	return (select sum(n) from life_t where id between k - 3 and k + 3);
end $$;
create function life_sees(k int) returns bigint language sql stable as
	$$ select sum(n) from life_t where id between k - 3 and k + 3 $$;
select id, n, body, life_bump(id), life_sees(id) from life_t where id between 100 and 108;
set enable_seqscan = off;
select id, n, body, life_bump(id), life_sees(id) from life_t where id between 200 and 208 order by id;
select a.id, a.n, b.n, life_bump(b.id) from life_t a join life_t b on b.id = a.id + 1
	where a.id between 300 and 305 order by 1;
reset enable_seqscan;
select count(*), sum(n) from life_log;

-- held cursors
begin;
declare h scroll cursor with hold for select id, n, body from life_t where id between 30 and 36;
fetch 2 h;
update life_t set body = 'later' where id between 30 and 36;
commit;
update life_t set body = 'after' where id between 30 and 36;
fetch 3 h;
fetch backward 4 h;
close h;

-- scans that begin again, from the same slots
select a.id, (select sum(b.n) from life_t b where b.id between a.id and a.id + 4) from life_t a where a.id between 40 and 45;
select v, (select count(*) from life_t tablesample bernoulli (100) where id < v) from (values (20), (60)) v (v);
select ctid = min(ctid) over () from life_t where id in (50, 51);

-- triggers keep rows until the end
create table life_fired (line text) using zheap;
create function life_trigger() returns trigger language plpgsql as $$
begin
	insert into life_fired values (old.id || ' ' || old.n || ' ' || old.body || ' -> ' || new.body);
	return null;
end $$;
create constraint trigger life_after after update on life_t deferrable initially deferred
	for each row execute function life_trigger();
begin;
update life_t set body = 'one' where id between 60 and 62;
savepoint a;
update life_t set body = 'two' where id between 61 and 63;
rollback to a;
update life_t set body = body || ' three' where id between 62 and 64;
commit;
select * from life_fired order by line;

-- errors in the middle of a scan leave nothing behind
create function life_memory() returns bigint language sql as
	$$ select used_bytes from pg_backend_memory_contexts where name = 'TopMemoryContext' $$;
do $$
declare before bigint;
begin
	for turn in 1..600 loop
		begin
			if turn % 3 = 0 then
				perform 1 / (id - 55) from life_t where id > 20;
			elsif turn % 3 = 1 then
				perform 1 / (a.id - 55) from life_t a join life_t b on b.id = a.id + 1 where a.id between 50 and 70;
			else
				perform sum(1 / (id - 2500)) from life_t;
			end if;
		exception when division_by_zero then null;
		end;
		if turn = 60 then before := life_memory(); end if;
	end loop;
	raise notice 'no more memory: %', life_memory() - before < 100000;
end $$;
drop table life_t, life_log, life_fired;
drop function life_bump, life_sees, life_trigger, life_memory;
