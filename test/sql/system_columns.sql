-- tableoid, ctid, xmin, xmax and cmin tell of the version that is read.
-- Compared with the current transaction's id, with each other and over savepoints; no id is written down here.
set zheap.xmin = 'transaction';
create table sys_t (id int primary key, n int, v text) using zheap;
create function sys_me() returns xid language sql volatile as 'select pg_current_xact_id()::xid';
begin;
insert into sys_t values (1, 1, 'a');
insert into sys_t values (2, 2, 'b'), (3, 3, 'c');
select id, tableoid::regclass, xmin = sys_me() as mine, xmax, cmin from sys_t order by id;
update sys_t set n = 10 where id = 2;
select id, xmin = sys_me() as mine, xmax, cmin from sys_t order by id;
commit;
begin;
select id, xmin = sys_me() as mine, xmax from sys_t order by id;
update sys_t set n = n + 1 where id = 1;
select id, xmin = sys_me() as mine, xmax from sys_t order by id;
savepoint s;
update sys_t set n = n + 1 where id = 2;
select id, xmin = sys_me() as mine, xmax from sys_t order by id;
select count(distinct xmin::text) = 3 as three from sys_t;
rollback to s;
select id, xmin = sys_me() as mine from sys_t order by id;
commit;
-- each transaction's rows have their own xmin, until all can see them
begin;
insert into sys_t values (4, 4, 'd');
create temp table sys_xid as select sys_me() as x;
commit;
select id, t.xmin = x or t.xmin = '2' as that, t.xmin::text::bigint > 0 as set from sys_t t, sys_xid where id = 4;
update sys_t set n = 44 where id = 4 returning xmin = sys_me() as mine, xmin <> (select x from sys_xid) as other, xmax;
delete from sys_t where id = 4 returning tableoid::regclass, n;
insert into sys_t values (5, 5, 'e') returning tableoid::regclass, ctid is not null as ctid, xmin = sys_me() as mine, cmin, xmax;
-- in where clauses, joins, aggregates
select count(*) from sys_t where tableoid = 'sys_t'::regclass;
select count(*) from sys_t where xmin is not null and ctid is not null;
select count(distinct ctid) = count(*) as distinct from sys_t;
begin;
update sys_t set v = v || 'x';
select count(*) from sys_t where xmin = sys_me();
declare c cursor for select count(*) from sys_t where xmin = sys_me();
savepoint s;
update sys_t set v = v || 'y';
select count(*) from sys_t where xmin = sys_me();
fetch c;
rollback;
select count(*) from sys_t where xmin = sys_me();
-- optimistic locking by xmin, of transactions that nobody can take for visible to all
create function sys_version(int) returns xid language sql stable as 'select xmin from sys_t where id = $1';
begin;
update sys_t set n = n where id = 1;
create temp table sys_seen as select id, xmin as x from sys_t;
savepoint s;
update sys_t t set v = 'first' from sys_seen s where s.id = t.id and t.xmin = s.x and t.id = 1 returning t.id;
update sys_t t set v = 'second' from sys_seen s where s.id = t.id and t.xmin = s.x and t.id = 1 returning t.id;
commit;
select v from sys_t where id = 1;
-- before triggers and views
create view sys_v as select xmin as made, tableoid, id from sys_t;
select count(*) from sys_v where made is not null;
create function sys_trig() returns trigger language plpgsql as
	$$ begin new.v := (old.xmin is not null)::text || (old.tableoid = tg_relid)::text; return new; end $$;
create trigger sys_b before update on sys_t for each row execute function sys_trig();
update sys_t set n = 0 where id = 1 returning v;
drop trigger sys_b on sys_t;
-- xmax of a new version: our own, where we had locked the row; so an upsert tells its updates from its insertions
create table sys_u (id int primary key, n int) using zheap;
insert into sys_u values (1, 1) on conflict (id) do update set n = 2 returning xmax = 0 as inserted;
insert into sys_u values (1, 1) on conflict (id) do update set n = 2 returning xmin = sys_me() as mine, xmax = sys_me() as updated;
update sys_u set n = 3 returning xmax;
begin;
insert into sys_u values (2, 1), (3, 1) returning xmax;
insert into sys_u values (2, 1), (4, 1) on conflict (id) do update set n = 2 returning id, xmax = 0 as inserted;
update sys_u set n = 3 where id = 3 returning xmax;
select id from sys_u where id = 3 for update;
update sys_u set n = 4 where id = 3 returning xmax = sys_me() as locked;
commit;
begin;
select id from sys_u where id = 1 for key share;
update sys_u set n = 4 where id = 1 returning xmax = sys_me() as locked;
commit;
update sys_u set id = 10, n = 5 where id = 1 returning xmax;
create trigger sys_b before update on sys_u for each row execute function suppress_redundant_updates_trigger();
update sys_u set n = 6 where id = 10 returning xmax = sys_me() as locked;
drop table sys_u;
drop view sys_v;
drop table sys_t, sys_xid, sys_seen;
drop function sys_me, sys_version, sys_trig;
