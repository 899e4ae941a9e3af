-- Columns added (with and without stored defaults) and dropped, 1,600 columns, no columns.
-- Rows of every age of a table are read, updated and compared after each change of its shape.
create table col_t (id int, a text) using zheap;
insert into col_t select g, 'a' || g from generate_series(1, 3) g;
alter table col_t add column b int default 42;
alter table col_t add column c text default 'a default that is not short: ' || repeat('x', 30);
insert into col_t values (4, 'a4', 4, 'c4');
alter table col_t add column d text;
alter table col_t add column e numeric not null default 1.5, add column f bool default true;
insert into col_t values (5, 'a5', 5, 'c5', 'd5', 5.5, false);
table col_t order by id;
select id, b, f from col_t where b = 42 and f order by id;
select count(b), sum(e), count(d) from col_t;
select xmin is not null as has_xmin, tableoid::regclass, f from col_t where id = 1;

-- updates of rows that lack the columns: of an old column, a missing one, all
begin;
update col_t set a = 'new ' || a where id = 1;
update col_t set b = b + 1 where id = 2;
update col_t set d = c where id = 3;
table col_t order by id;
rollback;
table col_t order by id;
update col_t set a = 'new ' || a where id = 1;
update col_t set b = null where id = 2;
update col_t set f = not f where id = 3;
table col_t order by id;
-- changing the default does not change rows
alter table col_t alter b set default 0, alter c drop default;
insert into col_t (id) values (6);
table col_t order by id;

-- dropped columns, of rows with and without them; dropped and added again
alter table col_t drop column a;
insert into col_t (id, b) values (7, 7);
update col_t set c = 'short' where id in (1, 4);
alter table col_t drop column c, drop column e;
alter table col_t add column a int default 99;
update col_t set d = 'd' || id;
table col_t order by id;
alter table col_t add column z date default '2001-01-01';
update col_t set z = z + id where id > 4;
table col_t order by id;
-- a rolled-back change of shape, with rows changed in it
begin;
alter table col_t add column tmp text default 'tmp';
update col_t set tmp = 'changed', f = null where id < 4;
insert into col_t (id, tmp) values (8, 'inserted');
table col_t order by id;
rollback;
table col_t order by id;
begin;
savepoint s;
alter table col_t add column tmp int default 1;
update col_t set tmp = 2, b = tmp;
rollback to s;
alter table col_t drop column b;
table col_t order by id;
rollback;
-- a rewrite
alter table col_t alter b type text using 'was ' || coalesce(b::text, 'null');
alter table col_t add column r int default (random() * 0)::int;
table col_t order by id;
-- whole-row values and composite results follow the shape
select col_t from col_t order by id limit 2;
drop table col_t;

-- drop every column, then begin anew
create table col_none (a int, b text) using zheap;
insert into col_none values (1, 'x'), (2, 'y');
alter table col_none drop column a, drop column b;
select count(*) from col_none;
table col_none;
insert into col_none default values;
alter table col_none add column c int default 3;
select c, count(*) from col_none group by c;
update col_none set c = 4;
select c, count(*) from col_none group by c;
drop table col_none;

-- tables without columns
create table col_zero () using zheap;
insert into col_zero default values;
insert into col_zero select from generate_series(1, 1000);
table col_zero limit 2;
select count(*) from col_zero;
begin;
insert into col_zero select from col_zero;
delete from col_zero;
select count(*) from col_zero;
rollback;
select count(*) from col_zero;
copy (select * from col_zero limit 2) to stdout;
delete from col_zero where ctid in (select ctid from col_zero limit 501);
select count(*) from col_zero;
vacuum col_zero;
select count(*) from col_zero;
drop table col_zero;

-- 1,600 columns
do $$
begin
	execute 'create table col_max (' || (select string_agg(format('c%s int', g), ', ') from generate_series(1, 1600) g) || ') using zheap';
	execute 'insert into col_max values (' || (select string_agg(g::text, ', ') from generate_series(1, 1600) g) || ')';
	execute 'insert into col_max values (' || (select string_agg(case when g % 8 = 3 then g::text else 'null' end, ', ') from generate_series(1, 1600) g) || ')';
end $$;
insert into col_max (c1600) values (1600);
insert into col_max (c1) values (1);
select c1, c2, c3, c8, c1595, c1599, c1600 from col_max order by 1, 3, 7;
select length(m::text), md5(m::text) from col_max m order by 1, 2;
alter table col_max add column c1601 int;
update col_max set c800 = -1, c1600 = null;
begin;
update col_max set c1 = c1600, c2 = 5, c1599 = 0;
select length(m::text), md5(m::text) from col_max m order by 1, 2;
rollback;
select length(m::text), md5(m::text) from col_max m order by 1, 2;
alter table col_max drop column c800;
alter table col_max add column c1601 int;
select count(*), sum(c1), sum(c1599) from col_max;
drop table col_max;

-- 1,600 columns that do not fit one row
do $$
begin
	execute 'create table col_max (' || (select string_agg(format('c%s int8', g), ', ') from generate_series(1, 1600) g) || ') using zheap';
	execute 'insert into col_max (' || (select string_agg('c' || g, ', ') from generate_series(1, 900) g) || ') select ' ||
		(select string_agg(g::text, ', ') from generate_series(1, 900) g);
	begin
		execute 'insert into col_max select ' || (select string_agg(g::text, ', ') from generate_series(1, 1600) g);
	exception when program_limit_exceeded then
		raise notice 'too big to insert';
	end;
	begin
		execute 'update col_max set ' || (select string_agg(format('c%s = %s', g, g), ', ') from generate_series(901, 1600) g);
	exception when program_limit_exceeded then
		raise notice 'too big to update';
	end;
end $$;
select c1, c900, c901, md5(m::text) from col_max m;
drop table col_max;
