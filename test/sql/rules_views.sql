-- Rules and views over zheap tables: rewritten queries change the rows that heap's would, RETURNING and check options included.
-- DO ALSO rules run over the same rows before or after the query itself.
create table rul_t (id int primary key, n int, v text) using zheap;
create table rul_log (seq serial, what text, id int, n int) using zheap;
insert into rul_t select g, g, 'v' || g from generate_series(1, 6) g;
create rule upd as on update to rul_t where old.n <> new.n do also insert into rul_log (what, id, n) values ('update', old.id, new.n);
create rule del as on delete to rul_t do also insert into rul_log (what, id, n) values ('delete', old.id, old.n);
create rule ins as on insert to rul_t do also insert into rul_log (what, id, n) values ('insert', new.id, new.n);
update rul_t set n = n * 10 where id < 4;
update rul_t set n = n * 10 where n >= 20;
delete from rul_t where id = 1;
insert into rul_t values (7, 7, 'seven');
select what, id, n from rul_log order by seq;
select * from rul_t order by id;
begin;
update rul_t set n = n + 1;
savepoint s;
update rul_t set n = n + 1;
rollback to s;
delete from rul_t where id > 4;
select count(*), sum(n) from rul_log;
rollback;
select count(*), sum(n) from rul_log;
-- a rule that updates the same table, and a conditional INSTEAD
create rule again as on insert to rul_log where new.what = 'insert' do also update rul_t set v = v || '+' where id = new.id;
insert into rul_t values (8, 8, 'eight');
create rule guard as on delete to rul_t where old.id = 8 do instead update rul_t set v = 'kept' where id = old.id returning *;
delete from rul_t where id in (7, 8);
select * from rul_t order by id;
drop rule guard on rul_t; drop rule upd on rul_t; drop rule del on rul_t; drop rule ins on rul_t; drop rule again on rul_log;
-- a view that rules make updatable, with RETURNING
create view rul_v as select id, n, n * 2 as twice from rul_t;
create rule vi as on insert to rul_v do instead insert into rul_t values (new.id, new.n, 'by rule') returning id, n, n * 2;
create rule vu as on update to rul_v do instead update rul_t set n = new.n where id = old.id returning id, n, n * 2;
create rule vd as on delete to rul_v do instead delete from rul_t where id = old.id returning id, n, n * 2;
insert into rul_v values (20, 20) returning *;
update rul_v set n = n + 1 where twice > 12 returning *;
delete from rul_v where twice = 42 returning *;
drop view rul_v;

-- automatically updatable views, with check options
create view rul_low as select id, n, v from rul_t where n < 100 with local check option;
create view rul_odd as select * from rul_low where id % 2 = 1 with cascaded check option;
create view rul_any as select id, v from rul_odd;
insert into rul_low values (30, 30, 'low');
insert into rul_low values (31, 131, 'high');
update rul_low set n = n + 1 where id = 30 returning *;
update rul_low set n = n + 100 where id = 30;
update rul_odd set id = id + 1 where id = 3;
update rul_odd set v = 'odd' returning id;
insert into rul_odd values (33, 133, 'high');
insert into rul_odd values (34, 34, 'even');
insert into rul_any values (35, 'null') returning *;
update rul_any set v = v || '!' where id = 5 returning *;
delete from rul_odd where id = 5 returning *;
-- in one transaction, in place several times
begin;
update rul_low set n = n + 1 where id = 30;
update rul_low set n = n + 1, v = 'twice' where id = 30;
update rul_odd set v = 'again' where id = 30;
savepoint s;
update rul_low set n = 1000 where id = 30;
rollback to s;
update rul_low set n = n + 1 where id = 30 returning *;
commit;
-- ON CONFLICT, MERGE and CURRENT OF through views
insert into rul_low values (30, 1, 'conflict') on conflict (id) do update set n = excluded.n + 500;
insert into rul_low values (30, 1, 'conflict') on conflict (id) do update set n = excluded.n, v = 'upsert' returning *;
create view rul_lock as select * from rul_t where n < 100;
begin;
select * from rul_lock where id = 30 for update;
declare c cursor for select * from rul_low where id = 30 for update;
fetch c;
update rul_low set v = 'current' where current of c;
update rul_t set v = 'current' where current of c;
delete from rul_t where current of c;
select * from rul_t where id = 30;
rollback;
select * from rul_t order by id;
-- INSTEAD OF triggers, security barrier, and a materialized view of zheap rows
create function rul_instead() returns trigger language plpgsql as $$
begin
	if tg_op = 'DELETE' then delete from rul_t where id = old.id; return old; end if;
	if tg_op = 'INSERT' then insert into rul_t values (new.id, new.n, 'instead'); return new; end if;
	update rul_t set n = new.n, id = new.id where id = old.id;
	return new;
end $$;
create view rul_trig with (security_barrier) as select id, n from rul_t;
create trigger i instead of insert or update or delete on rul_trig for each row execute function rul_instead();
insert into rul_trig values (40, 40), (41, 41) returning *;
update rul_trig set n = n + 1 where id >= 40 returning *;
update rul_trig set id = id + 10 where id = 41 returning *;
delete from rul_trig where id = 40 returning *;
select * from rul_t where id >= 40;
create materialized view rul_m using zheap as select id, n from rul_t;
create unique index on rul_m (id);
update rul_t set n = n + 1;
delete from rul_t where id = 2;
refresh materialized view concurrently rul_m;
select * from rul_m except select id, n from rul_t;
select count(*) = (select count(*) from rul_t) as same from rul_m;
drop materialized view rul_m;
drop view rul_trig, rul_lock, rul_any, rul_odd, rul_low;
drop table rul_t, rul_log;
drop function rul_instead;
