-- RETURNING of every command gives the row and its place as heap does, on tables with and without AFTER ROW triggers.
-- A TID that was returned must name the row in a later command, so it is used, not printed.
create function ret_note() returns trigger language plpgsql as $$
declare tid tid; known bool;
begin
	-- the place of a row that a trigger is told about, if it is there still
	if tg_op = 'DELETE' then
		raise notice '% % %: % plain %', tg_name, tg_when, tg_op, old, (old.ctid::text::point)[1] < 2048;
		return null;
	end if;
	if tg_name <> 'row' then
		raise notice '% % %: % -> % plain %', tg_name, tg_when, tg_op, case when tg_op = 'UPDATE' then old.n end, new, (new.ctid::text::point)[1] < 2048;
		return null;
	end if;
	tid := new.ctid;
	execute format('select count(*) = 1 from %I where ctid = $1', tg_table_name) into known using tid;
	raise notice '% % %: % found %', tg_name, tg_when, tg_op, new, known;
	return null;
end $$;
create table ret_plain (id int primary key, n int, v text) using zheap;
create table ret_trig (id int primary key, n int, v text) using zheap;
create trigger row after insert or update or delete on ret_trig for each row execute function ret_note();
create table ret_late (id int primary key, n int, v text) using zheap;
create constraint trigger late after insert or update or delete on ret_late deferrable initially deferred for each row execute function ret_note();
create table ret_upd (id int primary key, n int, v text) using zheap;
create trigger row after update on ret_upd for each row execute function ret_note();
create table ret_del (id int primary key, n int, v text) using zheap;
create trigger row after delete on ret_del for each row execute function ret_note();
create table ret_trans (id int primary key, n int, v text) using zheap;
create function ret_count() returns trigger language plpgsql as
	$$ declare r text; begin select string_agg(o::text, ' ' order by o) into r from o; raise notice '% old %', tg_op, r; return null; end $$;
create trigger tu after update on ret_trans referencing old table as o for each statement execute function ret_count();
create trigger td after delete on ret_trans referencing old table as o for each statement execute function ret_count();
create trigger row after update on ret_trans for each row execute function ret_note();

-- the same on each: a place is where the command before said, a page's line pointers are below 2048
create function ret_try(tab text) returns void language plpgsql as $$
declare t tid; u tid; n int; ok bool; r record;
begin
	execute format('insert into %I values (1, 1, ''a'') returning ctid', tab) into t;
	execute format('update %I set n = n + 1 where ctid = $1 returning ctid, n', tab) into u, n using t;
	raise notice '% in place: % %', tab, n, (u::text::point)[1] < 2048;
	execute format('update %I set n = n + 1, v = v || ''!'' where ctid = $1 returning ctid, n', tab) into t, n using u;
	raise notice '% in place: % %', tab, n, (t::text::point)[1] < 2048;
	execute format('update %I set id = id + 1 where ctid = $1 returning ctid, n', tab) into u, n using t;
	raise notice '% moved: % %', tab, n, (u::text::point)[1] < 2048;
	execute format('insert into %I values (2, 10, ''b'') on conflict (id) do update set n = %I.n + excluded.n returning ctid, n', tab, tab) into t, n;
	raise notice '% on conflict: % %', tab, n, (t::text::point)[1] < 2048;
	execute format('merge into %I t using (select $1 as c) x on t.ctid = x.c when matched then update set n = n + 100', tab) using t;
	execute format('with u as (update %I set n = n + 1 returning ctid, *) select u.ctid = t.ctid, u.n - t.n from u join %I t using (id)', tab, tab) into ok, n;
	raise notice '% with: % % ', tab, n, ok is not null;
	execute format('select ctid, n from %I', tab) into t, n;
	execute format('delete from %I where ctid = $1 returning ctid, ctid = $1 as same, n', tab) into r using t;
	raise notice '% deleted: % % %', tab, r.n, r.same, ((r.ctid)::text::point)[1] < 2048;
	execute format('insert into %I values (3, 3, ''c'') returning ctid', tab) into t;
	begin
		execute format('update %I set n = 33 where id = 3 returning ctid', tab) into u;
		raise exception 'undo';
	exception when raise_exception then null;
	end;
	execute format('update %I set n = n + 1 where ctid = $1 returning ctid, n', tab) into u, n using t;
	raise notice '% after an undone one: % %', tab, n, (u::text::point)[1] < 2048;
end $$;
select ret_try('ret_plain');
select ret_try('ret_trig');
select ret_try('ret_late');
select ret_try('ret_upd');
select ret_try('ret_del');
select ret_try('ret_trans');
-- more versions in one transaction than there are tags
begin;
do $$
declare t tid; u tid; m int; most int := 0;
begin
	select ctid into t from ret_late;
	for i in 1 .. 70 loop
		update ret_late set n = i where ctid = t returning ctid, n into u, m;
		if u is null then raise exception 'lost at %', i; end if;
		most := greatest(most, (u::text::point)[1]::int);
		t := u;
	end loop;
	raise notice '% %', m, most < 2048;
end $$;
set constraints all immediate;
rollback;
-- rows by ctid within the statement that changes them, and after
update ret_trig t set v = 'joined' from ret_trig o where o.ctid = t.ctid returning t.n, o.n, t.v, o.v;
with d as (delete from ret_trig returning ctid, *) select d.n, d.v, d.ctid = t.ctid as same from d join ret_trig t on t.ctid = d.ctid;
select count(*) from ret_trig;
-- COPY in a function: its events mean the rows as inserted, though a query runs
create table ret_copy (id int primary key, n int) using zheap;
create function ret_copied() returns trigger language plpgsql as $$
begin
	raise notice '% %: %', tg_op, case when tg_op = 'UPDATE' then old.n end, new;
	if tg_op = 'INSERT' and new.n < 100 then update ret_copy set n = n + 100 where id = new.id; end if;
	return null;
end $$;
create trigger a after insert or update on ret_copy for each row execute function ret_copied();
create trigger b after insert on ret_copy for each row execute function ret_copied();
create function ret_load() returns bigint language plpgsql as $$
begin
	copy ret_copy from program 'echo 1,1; echo 2,2' with (format csv);
	return (select sum(n) from ret_copy);
end $$;
select ret_load();
select * from ret_copy order by id;
-- a table whose rows change partition
create table ret_p (id int, k int) partition by list (k);
create table ret_p1 partition of ret_p for values in (1) using zheap;
create table ret_p2 partition of ret_p for values in (2) using zheap;
create trigger row after insert or update or delete on ret_p for each row execute function ret_note();
insert into ret_p values (1, 1), (2, 1) returning tableoid::regclass, *;
do $$
declare t tid; n int; part regclass;
begin
	update ret_p set k = 2 where id = 1 returning tableoid::regclass, ctid into part, t;
	update ret_p set id = 10 where tableoid = part and ctid = t returning id, ctid into n, t;
	raise notice '% %', part, n;
	delete from ret_p where tableoid = part and ctid = t returning id into n;
end $$;
delete from ret_p returning tableoid::regclass, id, (ctid::text::point)[1] < 2048 as plain;
-- and between access methods
create table ret_m (id int, k int, t text) partition by list (k);
create table ret_m1 partition of ret_m for values in (1) using zheap;
create table ret_m2 partition of ret_m for values in (2) using heap;
insert into ret_m select g, 1 + g % 2, repeat('x', g * 30) from generate_series(1, 6) g;
do $$
declare place tid; x xid; y xid; c cid; n int; part regclass;
begin
	for i in 1 .. 6 loop
		update ret_m set k = 3 - k where id = i returning tableoid::regclass, ctid, xmin, xmax, cmin into part, place, x, y, c;
		select id into n from ret_m where tableoid = part and ctid = place and xmin = x and xmax = 0;
		raise notice '% % % %', part, n, y, c;
		if part = 'ret_m2'::regclass and x::text <> (pg_current_xact_id()::text::bigint % 4294967296)::text then
			raise notice 'xmin is %', x;
		end if;
		update ret_m set k = 3 - k, t = 'y' where id = i and xmin = x returning id into n;
		raise notice '%', n;
	end loop;
end $$;
drop table ret_m;
drop table ret_plain, ret_trig, ret_late, ret_upd, ret_del, ret_trans, ret_copy, ret_p;
drop function ret_try, ret_note, ret_count, ret_copied, ret_load;
