-- A query does not act on what another one, run inside it, has been told about a row.  The same commands run with heap and zheap.
create function tq_make(am text) returns void language plpgsql as $$
begin
	execute format('create table tq_%1$s (id int primary key, n int, later int unique deferrable) using %1$s', am);
	execute format('insert into tq_%s select i, 0, i from generate_series(1, 3) i', am);
	execute format('create trigger before before update or delete on tq_%s for each row execute function tq_before()', am);
end $$;
create function tq_before() returns trigger language plpgsql as
	$$ begin if tg_op = 'UPDATE' then return new; end if; return old; end $$;
-- finds the row, and leaves it alone
create function tq_nothing(rel text, i int) returns bool language plpgsql as
	$$ begin execute format('insert into %s values (%s, 7, -1) on conflict (id) do nothing', rel, i); return true; end $$;
-- finds the row, and fails
create function tq_fails(rel text, i int) returns bool language plpgsql as $$
begin
	execute format('insert into %s values (%s, 7, -1)', rel, i);
	return false;
exception when unique_violation then
	return true;
end $$;
-- finds the row, and waits for the end of the transaction with what that means
create function tq_defers(rel text, i int) returns bool language plpgsql as $$
begin
	execute 'set constraints all deferred';
	execute format('insert into %1$s select max(id) + 1, 7, %2$s from %1$s', rel, i);
	return true;
end $$;
-- the second time that a command comes to a row which it has changed it passes by, if there is a BEFORE trigger or none
create function tq_run(am text, how text) returns table (id int, n int) language plpgsql as $$
declare
	rel text := 'tq_' || am;
begin
	execute format('update %1$s t set n = n + x.k from (values (1, 1), (1, 2), (2, 3)) x (id, k)
		where t.id = x.id and tq_%2$s(%1$L, x.id)', rel, how);
	return query execute format('select id, n from %s order by id', rel);
end $$;
select tq_make('heap'), tq_make('zheap');
begin isolation level repeatable read;
select * from tq_run('heap', 'nothing');
rollback;
begin isolation level repeatable read;
select * from tq_run('zheap', 'nothing');
rollback;
begin isolation level repeatable read;
select * from tq_run('heap', 'fails');
rollback;
begin isolation level repeatable read;
select * from tq_run('zheap', 'fails');
rollback;
begin isolation level repeatable read;
select * from tq_run('heap', 'defers');
rollback;
begin isolation level repeatable read;
select * from tq_run('zheap', 'defers');
rollback;
-- within one query
begin isolation level repeatable read;
with a as (update tq_heap set n = n + 1 where id = 1 returning id),
	b as (insert into tq_heap select id, 5, -2 from a on conflict (id) do nothing returning id)
update tq_heap t set n = 9 from (select count(*) from b) x where t.id = 1;
select id, n from tq_heap order by id;
rollback;
begin isolation level repeatable read;
with a as (update tq_zheap set n = n + 1 where id = 1 returning id),
	b as (insert into tq_zheap select id, 5, -2 from a on conflict (id) do nothing returning id)
update tq_zheap t set n = 9 from (select count(*) from b) x where t.id = 1;
select id, n from tq_zheap order by id;
rollback;
begin isolation level repeatable read;
set constraints all deferred;
with a as (update tq_heap set n = n + 1 where id = 1 returning id),
	b as (insert into tq_heap select id + 10, 5, id from a returning id)
delete from tq_heap t using (select count(*) from b) x where t.id = 1;
select * from tq_heap order by id;
rollback;
begin isolation level repeatable read;
set constraints all deferred;
with a as (update tq_zheap set n = n + 1 where id = 1 returning id),
	b as (insert into tq_zheap select id + 10, 5, id from a returning id)
delete from tq_zheap t using (select count(*) from b) x where t.id = 1;
select * from tq_zheap order by id;
rollback;
-- a row that a command has made is not its to change once more
insert into tq_heap values (1, 5, -1), (1, 6, -2) on conflict (id) do update set n = excluded.n;
insert into tq_zheap values (1, 5, -1), (1, 6, -2) on conflict (id) do update set n = excluded.n;
insert into tq_heap values (5, 5, -1), (5, 6, -2) on conflict (id) do update set n = excluded.n;
insert into tq_zheap values (5, 5, -1), (5, 6, -2) on conflict (id) do update set n = excluded.n;
-- nor where an index expression has caught an error meanwhile
create function tq_int(text) returns int immutable language plpgsql as
	$$ begin return $1::int; exception when others then return -1; end $$;
create table tq_heap_e (k text, v int) using heap;
create table tq_zheap_e (k text, v int) using zheap;
create unique index on tq_heap_e (tq_int(k));
create unique index on tq_zheap_e (tq_int(k));
insert into tq_heap_e values ('abc', 0);
insert into tq_zheap_e values ('abc', 0);
insert into tq_heap_e values ('abc', 1), ('abc', 2) on conflict (tq_int(k)) do update set v = excluded.v;
insert into tq_zheap_e values ('abc', 1), ('abc', 2) on conflict (tq_int(k)) do update set v = excluded.v;
drop table tq_heap_e, tq_zheap_e;
drop function tq_int;
-- what is returned of a deleted row names it as the table does, whatever the trigger's condition has done to others
create function tq_other(rel text, i int) returns bool language plpgsql as
	$$ begin if i < 3 then execute format('delete from %s where id = %s', rel, i + 10); end if; return true; end $$;
create function tq_after() returns trigger language plpgsql as
	$$ begin raise notice '% % %', tg_relid::regclass, tg_op, old.id; return null; end $$;
create trigger after after delete on tq_heap for each row when (tq_other('tq_heap', old.id)) execute function tq_after();
create trigger after after delete on tq_zheap for each row when (tq_other('tq_zheap', old.id)) execute function tq_after();
insert into tq_heap select i + 10, 0, i + 10 from generate_series(1, 3) i;
insert into tq_zheap select i + 10, 0, i + 10 from generate_series(1, 3) i;
delete from tq_heap where id <= 3 returning ctid < '(0,1000)' as plain, id;
delete from tq_zheap where id <= 3 returning ctid < '(0,1000)' as plain, id;
drop table tq_heap, tq_zheap;
drop function tq_make, tq_before, tq_nothing, tq_fails, tq_defers, tq_run, tq_other, tq_after;
