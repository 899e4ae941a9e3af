-- By an index, a row that the own transaction has changed: seen at once if all its changes are of earlier
-- commands, else by the version's command.  What is done to the zheap table is done to a heap table, and
-- both show the same.
set zheap.xmin = 'transaction';
create table own_z (id int primary key, a int, f text) using zheap;
create table own_h (id int primary key, a int, f text) using heap;
insert into own_z select g, 0, 'old' from generate_series(1, 200) g;
insert into own_h select g, 0, 'old' from generate_series(1, 200) g;
set enable_seqscan = off;
set enable_bitmapscan = off;

-- %t is the table
create function both_do(statement text) returns void language plpgsql as $$
begin
	execute replace(statement, '%t', 'own_h');
	execute replace(statement, '%t', 'own_z');
end $$;
-- the rows, and which of the own commands, the first or the second, has made each
create function rows_of(t text) returns text language plpgsql stable as $$
declare result text;
begin
	execute format('select string_agg(format(''%%s/%%s/%%s/%%s'', id, a, f, command), '' '')
		from (select case when own then dense_rank() over (partition by own order by cmin) else 0 end as command, *
			from (select xmin = pg_current_xact_id()::xid as own, cmin::text::int as cmin, id, a, f from %I where id between 1 and 12 order by id) s
			order by id) s', t) into result;
	return result;
end $$;
create function same() returns text language sql volatile as $$
	select case when rows_of('own_z') = rows_of('own_h') then 'same' else 'heap:  ' || rows_of('own_h') || E'\nzheap: ' || rows_of('own_z') end
		|| ', ' || (select count(*) filter (where a > 0) || ' changed of ' || count(*) from own_z where id between 1 and 12) $$;

begin;
select both_do('update %t set a = 1 where id <= 5');
select same();
select both_do('update %t set a = 2, f = ''newer'' where id in (2, 7)');
select both_do('insert into %t values (0, 0, ''first''), (201, 0, ''last'')');
select both_do('delete from %t where id in (3, 11)');
select same();
-- older commands see older versions, whatever comes after
declare z1 cursor for select id, a, f from own_z where id between 1 and 8 order by id;
declare h1 cursor for select id, a, f from own_h where id between 1 and 8 order by id;
select both_do('update %t set a = 3 where id between 4 and 8');
select both_do('delete from %t where id = 6');
select both_do('insert into %t values (6, 6, ''again'')');
fetch 3 from z1;
fetch 3 from h1;
select both_do('update %t set a = a + 10 where id = 8');
fetch all from z1;
fetch all from h1;
select same();
-- a subtransaction's, kept and rolled back
savepoint s;
select both_do('update %t set a = 4 where id between 5 and 9');
select same();
savepoint s2;
select both_do('update %t set a = 5 where id between 5 and 9');
select same();
rollback to s2;
select same();
release s2;
select both_do('update %t set a = a + 1 where id = 5');
select same();
rollback to s;
-- heap shows combined commands then
select count(*) from (select * from own_z where id between 1 and 12 except select * from own_h) d;
rollback;
select same();

-- a function's changes are of later commands than the statement that calls it
create function change(t text, row_id int) returns int language plpgsql volatile as $$
declare result int;
begin
	execute format('update %I set a = a + 100 where id = %s returning a', t, row_id) into result;
	return result;
end $$;
begin;
select both_do('update %t set a = 1 where id <= 12');
select id, a, change('own_z', id + 1) from own_z where id between 1 and 4 order by id;
select id, a, change('own_h', id + 1) from own_h where id between 1 and 4 order by id;
select id, a, (select max(a) from own_z o where o.id = z.id + 1), change('own_z', id + 1) from own_z z where id between 6 and 8 order by id;
select id, a, (select max(a) from own_h o where o.id = h.id + 1), change('own_h', id + 1) from own_h h where id between 6 and 8 order by id;
select same();
-- a statement's own changes
with w as (update own_z set a = a + 1 where id = 10 returning a) select w.a, z.a from w, own_z z where z.id = 10;
with w as (update own_h set a = a + 1 where id = 10 returning a) select w.a, h.a from w, own_h h where h.id = 10;
-- changed, then locked
select id, a from own_z where id in (1, 2) for update;
select id, a from own_h where id in (1, 2) for update;
select same();
update own_z set f = 'locked' where id = 1;
update own_h set f = 'locked' where id = 1;
select same();
commit;
select same();

-- in a transaction block after others that ended in between: prepared, rolled back
begin;
select both_do('update %t set a = 7 where id = 1');
rollback;
begin;
select same();
select both_do('update %t set a = 8 where id = 2');
select same();
commit;
-- longer rows, which move; serializable
begin isolation level serializable;
select both_do('update %t set f = repeat(''longer'', 100) where id <= 12');
select left(same(), 4);
select both_do('update %t set f = ''short'' where id <= 12');
select same();
commit;
create temp table own_t (id int primary key, a int) using zheap;
insert into own_t select g, 0 from generate_series(1, 20) g;
begin;
update own_t set a = 1 where id = 3;
select * from own_t where id in (2, 3) order by id;
savepoint s;
update own_t set a = 2 where id = 3;
select cmin::text <> '0' as later, * from own_t where id = 3;
rollback to s;
select * from own_t where id = 3;
rollback;
select * from own_t where id = 3;
drop table own_z, own_h, own_t;
drop function both_do, rows_of, same, change;
