-- Transition tables hold what the statement replaced and wrote, also on tables that have no AFTER ROW trigger themselves.
create table trt_t (id int primary key, n int) using zheap;
create function trt_show() returns trigger language plpgsql as $$
declare o text; n text;
begin
	if tg_op <> 'INSERT' then select string_agg(o_t::text, ' ' order by o_t) into o from o_t; end if;
	if tg_op <> 'DELETE' then select string_agg(n_t::text, ' ' order by n_t) into n from n_t; end if;
	raise notice '% %: % -> %', tg_table_name, tg_op, o, n;
	return null;
end $$;
create trigger i after insert on trt_t referencing new table as n_t for each statement execute function trt_show();
create trigger u after update on trt_t referencing old table as o_t new table as n_t for each statement execute function trt_show();
create trigger d after delete on trt_t referencing old table as o_t for each statement execute function trt_show();
insert into trt_t select g, g from generate_series(1, 3) g;
update trt_t set n = n + 10;
update trt_t set id = id + 10;
begin;
update trt_t set n = n + 1;
savepoint s;
update trt_t set n = n + 1;
rollback to s;
update trt_t set n = n + 1;
insert into trt_t values (11, 0), (4, 4) on conflict (id) do update set n = excluded.n;
merge into trt_t using (values (11), (12), (5)) s (id) on trt_t.id = s.id when matched and s.id = 11 then update set n = 100 when matched then delete when not matched then insert values (s.id, 5);
delete from trt_t where id < 12;
commit;
-- many versions of one row in one transaction
begin;
do $$ begin for i in 1 .. 3 loop update trt_t set n = n + 1; end loop; end $$;
commit;
-- the parent's transition table gets rows of children without triggers
create table trt_p (id int, n int) using zheap;
create table trt_c (extra text) inherits (trt_p) using zheap;
create trigger u after update on trt_p referencing old table as o_t new table as n_t for each statement execute function trt_show();
create trigger d after delete on trt_p referencing old table as o_t for each statement execute function trt_show();
insert into trt_p values (1, 1);
insert into trt_c values (2, 2, 'two');
begin;
update trt_p set n = n + 1;
update trt_p set n = n + 1;
delete from trt_p;
commit;
-- partitions, and rows that move between them
create table trt_part (id int, n int) partition by list (id);
create table trt_part1 partition of trt_part for values in (1) using zheap;
create table trt_part2 partition of trt_part for values in (2, 3) using zheap;
create trigger i after insert on trt_part referencing new table as n_t for each statement execute function trt_show();
create trigger u after update on trt_part referencing old table as o_t new table as n_t for each statement execute function trt_show();
create trigger d after delete on trt_part referencing old table as o_t for each statement execute function trt_show();
insert into trt_part values (1, 10), (2, 20), (3, 30);
begin;
update trt_part set n = n + 1;
update trt_part set id = id % 3 + 1;
update trt_part set id = id % 3 + 1, n = n + 1;
delete from trt_part;
rollback;
create function trt_row() returns trigger language plpgsql as $$
begin raise notice '% %: % -> %', tg_table_name, tg_op, old, new; return null; end $$;
create trigger r after insert or update or delete on trt_part for each row execute function trt_row();
update trt_part set id = id % 3 + 1, n = n + 1 where id < 3 returning tableoid::regclass, *;
create constraint trigger late after insert or update or delete on trt_part1 deferrable initially deferred for each row execute function trt_row();
truncate trt_part;
insert into trt_part values (1, 10), (2, 20);
begin;
update trt_part set n = n + 1 where id = 1;
update trt_part set n = n + 1 where id = 1;
update trt_part set n = n + 1, id = 3 where id = 1;
update trt_part set n = n + 1 where id = 3;
update trt_part set n = n + 1, id = 1 where id = 3;
update trt_part set n = n + 1 where id = 1;
commit;
drop table trt_t, trt_c, trt_p, trt_part;
drop function trt_show, trt_row;
