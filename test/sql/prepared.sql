-- Prepared statements, cached plans and functions see rows as they are at each execution.
-- Custom and generic plans, plan changes by DDL, and SPI plans in loops.
create table prep_t (id int primary key, n int, s text) using zheap;
prepare ins (int, int, text) as insert into prep_t values ($1, $2, $3) returning *;
prepare upd (int, int) as update prep_t set n = n + $2 where id = $1 returning n;
prepare del (int) as delete from prep_t where id = $1;
prepare sel (int) as select * from prep_t where id = $1;
prepare tot as select count(*), sum(n) from prep_t;
execute ins (1, 10, 'one');
execute ins (2, 20, 'two');
execute ins (2, 20, 'dup');
execute ins (3, 30, 'three');
execute upd (1, 1);
execute upd (1, 1);
begin;
execute upd (1, 100);
execute sel (1);
savepoint s;
execute del (1);
execute sel (1);
rollback to s;
execute upd (1, 1000);
execute tot;
rollback;
execute sel (1);
execute tot;
-- generic plan, more than five times
set plan_cache_mode = force_generic_plan;
execute upd (2, 1); execute upd (2, 1); execute upd (2, 1); execute upd (2, 1); execute upd (2, 1); execute upd (2, 1); execute upd (2, 1);
reset plan_cache_mode;
execute sel (2);
-- the table changes under the plan
alter table prep_t add column extra int default 9;
execute ins (4, 40, 'four');
prepare sel2 (int) as select id, n, s, extra from prep_t where id = $1;
execute sel2 (1);
execute upd (4, 4);
create index prep_s on prep_t (s);
execute upd (4, 4);
execute sel2 (4);
drop index prep_s;
alter table prep_t drop column s;
execute upd (4, 4);
execute sel2 (4);
execute tot;
truncate prep_t;
execute tot;
alter table prep_t add primary key (id);
deallocate all;
drop table prep_t;

-- plans cached in functions
create table prep_f (id int primary key, n int) using zheap;
insert into prep_f select g, 0 from generate_series(1, 20) g;
create function prep_add(int, int) returns int language plpgsql as $$
declare r int;
begin
	update prep_f set n = n + $2 where id = $1 returning n into r;
	if not found then
		insert into prep_f values ($1, $2);
		return -1;
	end if;
	return r;
end $$;
select prep_add(g % 20 + 1, g) from generate_series(1, 5) g;
select sum(prep_add(g % 25 + 1, g)) from generate_series(1, 1000) g;
select count(*), sum(n) from prep_f;
create function prep_loop() returns bigint language plpgsql as $$
declare r record; total bigint := 0;
begin
	for r in select * from prep_f order by id loop
		update prep_f set n = n + 1 where id = r.id;
		total := total + r.n;
		update prep_f set n = n + 1 where id = r.id + 1;
	end loop;
	return total;
end $$;
select prep_loop(), prep_loop();
select count(*), sum(n) from prep_f;
-- a query that reads and a function that writes
select id, n as before, prep_add(id, 1000) as after from prep_f where id <= 3 order by id;
create function prep_stable(int) returns int language sql stable as 'select n from prep_f where id = $1';
create function prep_volatile(int) returns int language sql volatile as 'select n from prep_f where id = $1';
with u as (update prep_f set n = 0 where id = 1 returning id)
select prep_stable(id), prep_volatile(id) from u;
update prep_f set n = prep_volatile(1) + 1 where id = 1 returning n;
drop table prep_f;
drop function prep_add, prep_loop, prep_stable, prep_volatile;
