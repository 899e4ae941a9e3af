-- Each callback of the table access method that takes a slot is called with slots of every kind, empty and not, with
-- system columns asked for and not, and the same with a heap table: the results are the same, or errors that say why.
set default_toast_compression = 'pglz';
create function slots_fill(rel text, am text, long boolean) returns void language plpgsql as $$
begin
    execute format('create table %I (id integer, gone text, a text, n numeric, big text,
        twice integer generated always as (id * 2) stored) using %I', rel, am);
    execute format('alter table %I alter big set storage external', rel);
    execute format('insert into %I select i, ''gone'', ''row '' || i, i / 7.0, case when $1 then
        repeat(md5(i::text), 100) end from generate_series(1, 300) i', rel) using long;
    execute format('alter table %I drop column gone, add added text default ''was missing''', rel);
    execute format('insert into %I (id, a, n, big, added) select i, ''row '' || i, i / 7.0, case when $1 then
        repeat(md5(i::text), 100) end, ''is there'' from generate_series(301, 310) i', rel) using long;
    execute format('create index on %I (id)', rel);
end $$;
select slots_fill('z', 'zheap', false), slots_fill('zs', 'zheap', false), slots_fill('h', 'heap', false),
    slots_fill('hs', 'heap', false);
select slots_fill('zl', 'zheap', true), slots_fill('zsl', 'zheap', true), slots_fill('hl', 'heap', true),
    slots_fill('hsl', 'heap', true);

-- all that a call does is rolled back
create function slots_call(rel regclass, zs regclass, hs regclass, callback text, kind text, content text, sys boolean)
returns text language plpgsql as $$
begin
    raise sqlstate 'ZZ001' using message = coalesce(zheap_unit_callback(rel, zs, hs, callback, kind, content, sys), '-');
exception
    when sqlstate 'ZZ001' then return sqlerrm;
    when others then
        return format('%s: %s', sqlstate, sqlerrm);
end $$;

create table slots_callbacks (n serial, callback text, writes boolean);
insert into slots_callbacks (callback, writes) values
    ('tuple_insert', true), ('tuple_insert, bulk', true), ('multi_insert', true), ('multi_insert, bulk', true),
    ('speculative', true), ('speculative, taken back', true), ('tuple_update', true),
    ('scan', false), ('scan, backward', false), ('TID range', false), ('bitmap', false),
    ('bitmap, lossy', false), ('sample', false), ('analyze', false), ('index_fetch', false),
    ('index_fetch, index page locked', false), ('fetch_row_version', false),
    ('fetch_row_version, SnapshotAny', false), ('fetch_row_version, own TID', false), ('satisfies_snapshot', false),
    ('tuple_lock', false), ('tuple_lock, own TID', false);
create table slots_kinds (k serial, kind text);
insert into slots_kinds (kind) values ('virtual'), ('heap'), ('minimal'), ('buffer'), ('own'), ('other');
create table slots_contents (c serial, content text);
insert into slots_contents (content) values ('empty'), ('values'), ('row'), ('material'), ('scan');

-- long values matter to those that write
create temporary table slots_results as
    select n, callback, k, kind, content, sys, long,
        slots_call(case when long then 'zl' else 'z' end, case when long then 'zsl' else 'zs' end,
                   case when long then 'hsl' else 'hs' end, callback, kind, content, sys) as zheap,
        slots_call(case when long then 'hl' else 'h' end, case when long then 'zsl' else 'zs' end,
                   case when long then 'hsl' else 'hs' end, callback, kind, content, sys) as heap
    from slots_callbacks, slots_kinds, slots_contents, (values (false), (true)) s (sys), (values (false), (true)) l (long)
    where writes or not long
    order by n, k, c, sys, long;

-- "-": heap would fail an assertion, or there is no row to be written
select callback, string_agg(kind, ' ' order by k) as kinds, zheap, case heap when zheap then 'same' else heap end as heap
    from (select n, callback, k, kind, string_agg(distinct zheap, ' | ') as zheap, string_agg(distinct heap, ' | ') as heap
          from slots_results where content <> 'empty' or not sys and zheap <> '-' group by n, callback, k, kind) by_kind
    group by n, callback, zheap, heap
    order by n, min(k);

select zheap_unit_callback('z', 'zs', 'hs', 'scan', 'heap', 'empty', false);

select count(*) from z; -- nothing is left of it
select relname, v.* from pg_class, zheap.zheap_verify(oid) v where relname in ('z', 'zs', 'zl', 'zsl') order by 1;
