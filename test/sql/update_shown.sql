-- An UPDATE takes the columns that it does not set from the row that its scan has shown.  Whatever
-- comes between the two, the row must be the one that the statement's snapshot sees.  Each statement
-- is run on a heap table, too; errors and contents must be the same.
create table shn_z (id int primary key, a int, b int, f text) using zheap;
create table shn_h (id int primary key, a int, b int, f text) using heap;
create index shn_z_a on shn_z (a);
create index shn_h_a on shn_h (a);

-- %t is the table; what the statement returns, or its error
create function both_do(statement text) returns text language plpgsql as $$
declare
	results text[];
	result text;
	t text;
begin
	foreach t in array array['shn_h', 'shn_z'] loop
		begin
			execute replace(statement, '%t', t);
			get diagnostics result = row_count;
		exception when others then
			result := replace(sqlerrm, t, '%t');
		end;
		results := results || result;
	end loop;
	return case when results[1] = results[2] then results[1]
		else 'heap: ' || results[1] || ', zheap: ' || results[2] end;
end $$;
create function same() returns text language sql as $$
	select case when exists (select * from shn_z except select * from shn_h)
		or exists (select * from shn_h except select * from shn_z) then 'different' else 'same' end
		|| ', ' || (select sum(id + a * 3 + b * 7) from shn_z) $$;
create function fill() returns text language plpgsql as $$
begin
	perform both_do('truncate %t');
	return both_do('insert into %t select g, g % 10, 0, repeat(''x'', g % 50) from generate_series(1, 600) g');
end $$;
-- changes a row of the table and hands its argument on
create function touch(t text, row_id int, result int) returns int language plpgsql volatile as $$
begin
	execute format('update %I set b = b + 100 where id = %s', t, row_id);
	return result;
end $$;
create function touch_rolled_back(t text, row_id int, result int) returns int language plpgsql volatile as $$
begin
	begin
		execute format('update %I set b = b + 100 where id = %s', t, row_id);
		raise exception using errcode = 'ZH001';
	exception when sqlstate 'ZH001' then
	end;
	return result;
end $$;
-- looks at the same row with a snapshot of its own
create function look(t text, row_id int) returns int language plpgsql volatile as $$
declare result int;
begin
	execute format('select b from %I where id = %s', t, row_id) into result;
	return result;
end $$;

-- each kind of scan
select fill();
select both_do('update %t set b = b + 1');
select both_do('update %t set b = b + 1 where id = 300');
set enable_seqscan = off;
select both_do('update %t set b = b + 1 where id between 100 and 200');
set enable_indexscan = off;
select both_do('update %t set b = b + 1 where a between 2 and 4');
reset enable_seqscan;
reset enable_indexscan;
select both_do('update %t set b = b + 1 where ctid = any (select ctid from %t where a = 5)');
select both_do('update %t set f = f || ''y'' from (select id as i from %t where a = 1) s where id = i');
select both_do('update %t set b = n from (select id as i, b + 1 as n from %t) s where id = i + 1');
select both_do('with w as (update %t set b = b + 1 where a < 3 returning id) update %t set b = b + 5 where id in (select id + 3 from w)');
select same();

-- the row changes between the scan and the fetch: the statement's own snapshot counts
select both_do('update %t set a = touch(''%t'', id, a + 1) where id = 7');
select both_do('update %t set a = touch(''%t'', id + 1, a + 1) where id < 20');
select both_do('update %t set a = touch_rolled_back(''%t'', id, a + 1) where id between 20 and 40');
select both_do('update %t set a = touch_rolled_back(''%t'', id + 1, a + 1)');
select both_do('update %t set a = look(''%t'', id)');
select both_do('update %t set a = look(''%t'', id) where touch(''%t'', 601 - id, 1) = 1 and id <= 300');
select same();

-- in one transaction, after changes of its own, some of them rolled back
begin;
select both_do('update %t set b = b + 1 where id < 300');
savepoint s;
select both_do('update %t set b = b + 1000');
rollback to s;
select both_do('update %t set b = b + 1 where id > 200');
select same();
select both_do('delete from %t where id > 500');
select both_do('update %t set b = b + 1 where id > 400');
select both_do('insert into %t select id + 1000, a, b, f from %t');
select both_do('update %t set b = b + 1');
select same();
rollback;
select same();

-- rows that move, become longer, or are another partition's or another table's
select both_do('update %t set f = repeat(''long'', 300) where id % 20 = 0');
select both_do('update %t set b = b + 1 where id % 10 = 0');
select both_do('merge into %t using (select id as i, a as n from %t) s on id = i + 2 when matched and n > 3 then update set b = b + n when matched and n = 1 then delete when not matched and n = 2 then insert values (i + 2000, n, 0, null)');
select same();
create table shn_parts (id int, a int, b text) partition by range (a);
create table shn_parts1 partition of shn_parts for values from (0) to (5) using zheap;
create table shn_parts2 (x text, a int, b text, id int) using zheap;
alter table shn_parts2 drop column x;
alter table shn_parts attach partition shn_parts2 for values from (5) to (100);
insert into shn_parts select g, g % 10, 'row ' || g from generate_series(1, 20) g;
update shn_parts set a = a + 3 where a < 6;
update shn_parts set b = b || '!' where id % 3 = 0;
select tableoid::regclass, * from shn_parts order by id;

-- an older cursor shows the row, as it was, between the scan and the fetch
create function peek(result int) returns int language plpgsql volatile as $$
declare
	older refcursor := 'older';
	seen record;
begin
	fetch older into seen;
	return result + seen.b;
end $$;
begin;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
declare older cursor for select b from shn_z where id in (60, 61) order by id;
update shn_z set b = b + 1000 where id in (60, 61);
update shn_z set a = peek(id) where id in (60, 61);
select id, a, b from shn_z where id in (60, 61) order by id;
rollback;
begin;
declare older cursor for select b from shn_z;
update shn_z set b = b + 1000;
update shn_z set a = peek(0);
select count(*) from shn_z where b < 1000;
rollback;

-- the scan's slot is the new row's for a while, but keeps the scanned row's TID if there is a conflict
create table shn_from (id int, k int, v int) using zheap;
insert into shn_from values (1, 1, 5), (1, 999, 6);
create table shn_parent (id int primary key) using zheap;
create table shn_to (id int primary key, k int references shn_parent, v int) using zheap;
begin isolation level repeatable read;
insert into shn_to values (1, null, 20);
insert into shn_to select * from shn_from on conflict do nothing;
insert into shn_to select * from shn_from limit 1 on conflict do nothing;
select * from shn_to;
commit;
insert into shn_to values (0, null, 30) on conflict do nothing;
truncate shn_to;
insert into shn_to values (0, null, 30);
insert into shn_to select * from shn_from offset 1 limit 2 on conflict do nothing;
truncate shn_from;
insert into shn_from values (1, 999, 6), (1, 999, 6);
insert into shn_to select * from shn_from limit 2 on conflict do nothing;
select * from shn_to;
truncate shn_to, shn_from;
insert into shn_from values (7, null, 5);
create unique index on shn_to (v);
insert into shn_to values (100, null, 5);
vacuum shn_from, shn_to;
with i as (insert into shn_to select * from shn_from limit 1 on conflict do nothing returning 1)
	update shn_to set v = 9 where ctid = '(0,1)' and (select count(*) from i) >= 0;
select * from shn_to;
drop table shn_to, shn_from, shn_parent;

-- a row inserted from a scan of its own table: the scan's slot gets its TID
create function event() returns trigger language plpgsql as $$
begin
	if tg_op = 'INSERT' then
		execute format('update %I set b = b + 1 where id = %s', tg_table_name, new.id);
	end if;
	insert into shn_events values (tg_table_name, tg_op, old.b, new.b);
	return null;
end $$;
create table shn_events (t text, op text, old_b int, new_b int) using heap;
create trigger event after insert or update on shn_z for each row execute function event();
create trigger event after insert or update on shn_h for each row execute function event();
alter table shn_z drop constraint shn_z_pkey;
alter table shn_h drop constraint shn_h_pkey;
select both_do('insert into %t select * from %t where id <= 30');
select both_do('update %t set b = touch(''%t'', id, b) where id between 31 and 33');
select both_do('update %t set b = b + 1 where id between 40 and 43');
select same();
select op, old_b, new_b, count(*) filter (where t = 'shn_h') - count(*) filter (where t = 'shn_z') as difference, count(*)
	from shn_events group by 1, 2, 3 having count(*) filter (where t = 'shn_h') <> count(*) filter (where t = 'shn_z');
select count(*) > 60 from shn_events;

-- a cursor's row is its own snapshot's
begin;
declare c cursor for select id, a, b from shn_z where id = 50;
fetch c;
select both_do('update %t set b = b + 10 where id = 50');
update shn_z set a = a + 1 where current of c;
rollback;
begin isolation level serializable;
declare c cursor for select id from shn_z where id = 50 for update;
fetch c;
update shn_z set a = a + 1 where current of c;
update shn_h set a = a + 1 where id = 50;
select same();
commit;
drop table shn_z, shn_h, shn_parts, shn_events;
drop function both_do, same, fill, touch, touch_rolled_back, look, event, peek;
