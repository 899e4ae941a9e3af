-- INSERT, UPDATE, DELETE and SELECT give heap's results, statement by statement.
-- Small tables whose rows are printed after each kind of statement.
create table dml_t (id int primary key, grp int, val int default 7, note text) using zheap;
insert into dml_t values (1, 1, 10, 'one'), (2, 1, 20, 'two'), (3, 2, 30, null);
insert into dml_t (id, grp) values (4, 2);
insert into dml_t (id, note) values (5, 'five') returning *;
insert into dml_t select g, g % 3, g * 10, 'n' || g from generate_series(6, 12) g returning id, note;
table dml_t order by id;

-- update: one column, several, to null, from null, to the same value, with nothing to do
update dml_t set val = val + 1 where id = 1 returning *;
update dml_t set (grp, note) = (9, 'zwei') where id = 2 returning id, grp, note;
update dml_t set note = 'three' where id = 3;
update dml_t set note = null where id = 5;
update dml_t set val = val where id = 4;
update dml_t set val = 0 where id = 1000;
update dml_t set val = default where id = 6;
update dml_t set (val, note) = (select d.val, d.note from dml_t d where d.id = 12) where id = 7;
table dml_t order by id;

-- update every row, several times in one transaction
begin;
update dml_t set val = val + 1;
update dml_t set val = val * 2;
update dml_t set val = val - 3, note = coalesce(note, '') || '!';
table dml_t order by id;
commit;
table dml_t order by id;

-- delete
delete from dml_t where id = 12 returning *;
delete from dml_t where val > 100000;
with w as (delete from dml_t where grp = 0 returning id) select * from w order by 1;
begin;
delete from dml_t;
select count(*) from dml_t;
insert into dml_t values (1, 1, 1, 'again');
table dml_t;
rollback;
select count(*), sum(val) from dml_t;

-- joins, subqueries
create table dml_u (id int, add int) using zheap;
insert into dml_u select g, g * 100 from generate_series(1, 6) g;
with w as (update dml_t t set val = t.val + u.add from dml_u u where u.id = t.id and u.id <= 3 returning t.id, t.val, u.add) select * from w order by 1;
update dml_t set note = 'max' where val = (select max(val) from dml_t);
update dml_t t set note = 'has u' where exists (select from dml_u u where u.id = t.id) and note is null;
delete from dml_t t using dml_u u where t.id = u.id and u.add = 400 returning t.*, u.*;
select t.id, t.note, u.add, v.id as v
  from dml_t t left join dml_u u using (id) full join dml_u v on v.id = t.id + 3
 order by 1, 2, 3, 4;
-- one target row, many sources: updated once
update dml_t t set val = 0 from generate_series(1, 5) g where t.id = 1;
select * from dml_t where id = 1;
-- a self join
update dml_t a set val = b.val from dml_t b where b.id = a.id + 1;
table dml_t order by id;
-- each join method
set enable_hashjoin = off; set enable_mergejoin = off;
select t.id, u.add from dml_t t join dml_u u on u.id = t.id order by 1;
set enable_nestloop = off; reset enable_hashjoin;
select t.id, u.add from dml_t t join dml_u u on u.id = t.id order by 1;
set enable_hashjoin = off; reset enable_mergejoin;
select t.id, u.add from dml_t t join dml_u u on u.id = t.id order by 1;
reset all;

-- common table expressions that write
with gone as (delete from dml_u where id > 3 returning *),
	 back as (insert into dml_u select id + 100, add from gone returning id)
select (select count(*) from dml_u) as unchanged, array_agg(id order by id) from back;
table dml_u order by id;
with up as (update dml_t set val = -1 where id = 2 returning id, val)
select t.id, t.val as seen, up.val as made from dml_t t join up using (id);
-- the same row twice in one statement: once
with a as (update dml_t set val = 1001 where id = 3 returning 1),
	 b as (update dml_t set val = 1001 where id = 3 returning 1)
select (select count(*) from a) + (select count(*) from b) as updates;
select val from dml_t where id = 3;
with d as (delete from dml_t where id = 3 returning 1)
update dml_t set val = 5 where id in (3, 5) and (select count(*) from d) = 1;
select id, val from dml_t where id in (3, 5) order by id;

-- aggregates, windows, set operations, lateral
select grp, count(*), sum(val), string_agg(note, ',' order by id) from dml_t group by grp order by grp;
select id, sum(val) over (order by id), rank() over (partition by grp order by val, id) from dml_t order by id;
select id from dml_t intersect select id from dml_u order by 1;
select t.id, l.c from dml_t t, lateral (select count(*) as c from dml_u u where u.id < t.id) l order by 1;
select whole from dml_t whole order by id limit 2;

-- a statement that fails halfway leaves nothing
insert into dml_t select g, g, 100 / (g - 70), '' from generate_series(100, 50, -1) g;
update dml_t set val = 1 / (id - 5);
delete from dml_t where 1 / (id - 5) < 100;
select count(*), sum(val) from dml_t;

-- select ... into plpgsql, functions with side effects, views
create function dml_bump(int) returns int language sql as
	'update dml_t set val = val + 1 where id = $1 returning val';
select dml_bump(1), dml_bump(1), dml_bump(1);
select id, val from dml_t where id = 1;
create view dml_v as select id, note from dml_t where id < 10;
update dml_v set note = 'through view' where id = 1;
delete from dml_v where id = 2;
insert into dml_v values (2, 'back through view');
table dml_v order by id;

-- default values, empty inserts, identity, generated columns, checks
create table dml_g (
	id int generated always as identity,
	a int not null default 3 check (a > 0),
	twice int generated always as (a * 2) stored
) using zheap;
insert into dml_g default values;
insert into dml_g (a) values (5), (6) returning *;
with w as (update dml_g set a = a + 10 where id > 1 returning *) select * from w order by 1;
insert into dml_g (a) values (0);
insert into dml_g (a) values (null);
update dml_g set a = -a where id = 2;
update dml_g set twice = 1;
table dml_g order by id;
alter table dml_g add constraint even check (a % 2 = 0);
alter table dml_g add constraint small check (a < 1000), alter a type bigint;
table dml_g order by id;

-- BEFORE and statement triggers
create function dml_trig() returns trigger language plpgsql as $$
begin
	raise notice '% % %', tg_when, tg_op, tg_level;
	if tg_level = 'STATEMENT' then return null; end if;
	if tg_op = 'DELETE' then
		return case when old.id = 1 then null else old end;
	end if;
	new.note := coalesce(new.note, '') || '+';
	return new;
end $$;
create trigger dml_b before insert or update or delete on dml_t for each row execute function dml_trig();
create trigger dml_s after insert or update or delete on dml_t for each statement execute function dml_trig();
insert into dml_t values (60, 0, 0, 'trig') returning *;
with w as (update dml_t set val = 61 where id in (1, 60) returning id, note) select * from w order by 1;
with w as (delete from dml_t where id in (1, 60) returning id) select * from w order by 1;
select id, note from dml_t where id in (1, 60);

drop view dml_v;
drop table dml_t, dml_u, dml_g;
drop function dml_trig, dml_bump;
