-- Rows that come to a zheap table in slots of heap, and the other way: short, toasted, with dropped, missing and generated
-- columns, and with the system columns asked for.  What is there must be what was there.
create table src_h (id int, gone text, part int, a text, big text, twice int generated always as (id * 2) stored) using heap;
alter table src_h alter big set storage external;
insert into src_h select i, 'gone', 1 + i % 2, 'row ' || i, case when i % 3 = 0 then repeat(md5(i::text), 100) end
    from generate_series(1, 200) i;
alter table src_h drop column gone, add added text default 'was missing', add n numeric default 1.5;

-- a statement's new rows, with system columns
create table dst (like src_h including defaults including generated) using zheap;
alter table dst alter part set default 0;
with i as (insert into dst (id, part, a, big, added, n) select id, part, a, big, added, n from src_h
           returning tableoid::regclass as t, ctid, xmin, cmin, xmax, *)
    select t, count(*), count(distinct ctid), bool_and(xmin <> '0'), count(distinct cmin::text), bool_and(xmax = '0'),
        md5(string_agg(row(id, part, a, big, twice, added, n)::text, '' order by id)) =
        (select md5(string_agg(row(id, part, a, big, twice, added, n)::text, '' order by id)) from src_h) as same
    from i group by t;
create table as_z using zheap as select * from src_h;
create materialized view mat_z using zheap as select * from src_h;
create table access (like src_h) using heap;
insert into access select * from src_h;
alter table access add later text default 'later';
alter table access set access method zheap;
insert into access select *, 'new' from src_h where id < 10;
alter table access set access method heap;
alter table access set access method zheap;
select count(*) from (select * from src_h except all select * from as_z) d;
select count(*) from (select * from src_h except all select * from mat_z) d;
select later, count(*), count(distinct md5((id, part, a, big, twice, added, n)::text)) from access group by later order by 1;

-- rows that change to a partition of the other access method, of the same layout and of another
create table p_z (id int, part int, a text, big text, twice int generated always as (id * 2) stored,
    added text default 'was missing', n numeric default 1.5) partition by list (part);
create table p_h (like p_z including all) partition by list (part);
alter table p_z alter big set storage external;
alter table p_h alter big set storage external;
create table p_z1 partition of p_z for values in (1) using heap;
create table p_z2 (n numeric, gone int, added text, twice int generated always as (id * 2) stored, big text, a text, part int,
    id int) using zheap;
alter table p_z2 drop column gone;
alter table p_z attach partition p_z2 for values in (2);
create table p_z3 partition of p_z for values in (3) using zheap;
create table p_h1 partition of p_h for values in (1, 2, 3) using heap;
create function told() returns trigger language plpgsql as $$ begin
    if length(new.big) <> 3200 then raise 'long value is lost'; end if; return null; end $$;
create trigger told after insert or update on p_z for each row execute function told();
\set rows 'awk ''BEGIN { for (i = 1; i <= 200; i++) printf "%d,%d,row %d,%s\\n", i, 1 + i % 2, i, i % 3 ? "" : sprintf("%3200d", i) }'''
copy p_z (id, part, a, big) from program :'rows' (format csv);
copy p_h (id, part, a, big) from program :'rows' (format csv);
insert into p_z (id, part, a, big) select id + 1000, part, a, big from src_h where id <= 20
    returning tableoid::regclass, id, length(big), twice, added, n;
insert into p_h (id, part, a, big) select id + 1000, part, a, big from src_h where id <= 20;
update p_z set part = part + 1, a = a || ' moved' where id % 2 = 0 and id <= 6
    returning tableoid::regclass, id, length(big), twice, added, n, xmin <> '0' as xmin, xmax, ctid is not null as ctid;
update p_h set part = part + 1, a = a || ' moved' where id % 2 = 0 and id <= 6;
update p_z set part = 4 - part, id = id + 1 where id > 2;
update p_h set part = 4 - part, id = id + 1 where id > 2;
update p_z set part = 1 + id % 3;
update p_h set part = 1 + id % 3;
select tableoid::regclass, count(*), count(big), sum(twice) from p_z group by 1 order by 1;
select count(*) from (select * from p_z except all select * from p_h) d;
select count(*) from (select * from p_h except all select * from p_z) d;
select c.relname, v.* from pg_class c, zheap.zheap_verify(c.oid) v
    where c.relname in ('dst', 'as_z', 'mat_z', 'access', 'p_z2', 'p_z3');
set client_min_messages = warning;
drop table src_h, dst, as_z, access, p_z, p_h cascade;
drop function told();
