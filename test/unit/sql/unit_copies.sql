-- Slots of a zheap table, as C code may come by them, are copied to slots of every kind and back, and give heap tuples,
-- minimal tuples and composites: before they are materialized and after, before the table's page is changed and after.
create function copies_fill(rel text, am text, kind text default '') returns void language plpgsql as $$
begin
    execute format('create %s table %I (id integer, gone text, a text, n numeric, big text, f float8,
        twice integer generated always as (id * 2) stored) using %I', kind, rel, am);
    execute format('alter table %I alter big set storage external', rel);
    execute format('insert into %I select i, ''gone'', ''row '' || i, i / 7.0, repeat(md5(i::text), 100)
        from generate_series(1, 50) i', rel);
    execute format('alter table %I drop column gone, add added text default ''was missing''', rel);
end $$;
select copies_fill('zc', 'zheap'), copies_fill('hc', 'heap'), copies_fill('zt', 'zheap', 'temporary');

begin;
select zheap_unit_copies('zc', 'hc', 'select');
rollback;
begin;
select zheap_unit_copies('zc', 'hc', $$with h as (update hc set a = a || 'x', big = null) update zc set a = 'b', big = null$$);
rollback;
begin;
select zheap_unit_copies('zc', 'hc', $$do 'begin
    update zc set a = repeat(a, 20), big = upper(big); update hc set a = repeat(a, 20), big = upper(big);
    delete from zc where id < 40; delete from hc where id < 40; insert into zc select id + 100, a from zc;
    update zc set id = id + 1; end'$$);
rollback;
begin;
select zheap_unit_copies('zt', 'hc', $$with h as (update hc set a = 'x') update zt set a = repeat(a, 20), big = null$$);
rollback;

-- slots that know fewer columns than the table
begin;
select zheap_unit_few_columns('zc', 7), zheap_unit_few_columns('hc', 7);
select zheap_unit_few_columns('zc', 3), zheap_unit_few_columns('hc', 3);
select id, a, n, length(big), f, twice, added from zc where id = 1 except all
    select id, a, n, length(big), f, twice, added from hc where id = 1;
select id, a, n, length(big), f, twice, added from zc where id = 1;
rollback;

-- system columns of what is in no table, and of a table that nothing locks
create view v as select 1 as a;
create table parts (a integer) partition by list (a);
begin;
select zheap_unit_system_columns('zc', 'v'), zheap_unit_system_columns('zc', 'parts'),
    zheap_unit_system_columns('zc', 0);
rollback;

-- code that takes the slot for heap's changes no page
do $$
declare
    t text;
begin
    foreach t in array '{zc, zt}'::text[] loop
        begin
            perform zheap_unit_taken_for_heap(t);
        exception when others then
            raise notice '%', substring(sqlerrm from 'target block \d+');
        end;
    end loop;
end $$;
select count(*) from zc;
select count(*) from zt;
select count(*) from zheap.zheap_verify('zc');
