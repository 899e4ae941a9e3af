-- A statement comes to a row again that it has changed, and that functions which it calls have changed since: as on heap
-- the command that replaced the version which the statement saw decides.
create table smo (id int primary key, n int) using zheap;
create index smo_n on smo (n);
insert into smo values (1, 0), (2, 0);
create function smo_bump() returns int volatile language plpgsql as $$ begin update smo set n = n + 100 where id = 1; return 7; end $$;
create function smo_bump3() returns int volatile language plpgsql as $$ begin
	for i in 1..300 loop update smo set n = n + 1 where id = 1; end loop; return 7; end $$;
create function smo_gone() returns int volatile language plpgsql as $$ begin delete from smo where id = 1; return 7; end $$;
create function smo_undone() returns int volatile language plpgsql as $$ begin
	begin update smo set n = n + 1000 where id = 1; raise exception 'x'; exception when others then null; end;
	update smo set n = n + 1 where id = 1; return 7; end $$;
-- the statement first
update smo set n = case when s.o = 2 then smo_bump() else 5 end from (values (1), (2)) s(o) where smo.id = 1;
table smo order by id;
update smo set n = case when s.o = 2 then smo_bump3() else 5 end from (values (1), (2)) s(o) where smo.id = 1;
table smo order by id;
update smo set n = case when s.o = 2 then smo_undone() else 5 end from (values (1), (2)) s(o) where smo.id = 1;
table smo order by id;
begin;
update smo set n = case when s.o = 2 then smo_gone() else 5 end from (values (1), (2)) s(o) where smo.id = 1;
table smo order by id;
rollback;
merge into smo using (values (1), (2)) s(o) on smo.id = 1 when matched then update set n = case when s.o = 2 then smo_bump() else 5 end;
-- the function first
update smo set n = smo_bump() where id = 1;
update smo set n = smo_bump3() where id = 1;
update smo set n = smo_undone() where id = 1;
update smo set n = smo_gone() where id = 1;
delete from smo where id = 1 and smo_bump() = 7;
delete from smo where id = 1 and smo_gone() = 7;
table smo order by id;
-- the row was locked first, then changed by the statement, then by the function
with w as (update smo set n = n + 1 where id = 1 returning id)
	insert into smo values (1, 0) on conflict (id) do update set n = (select count(*)::int from w) + smo_bump();
with w as (update smo set n = n + 1 where id = 1 returning id)
	insert into smo values (1, 0) on conflict (id) do update set n = (select count(*)::int from w) + smo_bump3();
with w as (update smo set n = n + 1 where id = 1 returning id)
	insert into smo values (1, 0) on conflict (id) do update set n = smo_bump() + (select count(*)::int from w);
with w as (delete from smo where id = 1 returning id)
	insert into smo values (1, 0) on conflict (id) do update set n = (select count(*)::int from w) + smo_bump();
table smo order by id;
drop table smo;
drop function smo_bump, smo_bump3, smo_gone, smo_undone;
