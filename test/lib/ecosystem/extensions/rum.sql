-- The index method of rum: texts with positions, with a column added, ordered results; updates, VACUUM.
-- package: postgresql-15-rum
create extension rum;
\set type tsvector
\set value 'to_tsvector(''simple'', ''w'' || i % 50 || '' v'' || i % 7 || '' the quick fox '' || md5((i % 40)::text))'
\set index 'using rum (x rum_tsvector_ops)'
\set probe 'x @@ to_tsquery(''simple'', ''w17 | (v3 & quick <-> fox & w23)'')'
\i parts/values.sql
\set index 'using rum (x rum_tsvector_addon_ops, n) with (attach = ''n'', to = ''x'')'
\i parts/values.sql
\set index 'using rum (x rum_tsvector_hash_ops)'
\i parts/values.sql
\set type 'int[]'
\set value 'array[i % 11, i % 13, 99]'
\set index 'using rum (x rum_anyarray_ops)'
\set probe 'x @> ''{3,7}'''
\i parts/values.sql
\set type timestamp
\set value '''2020-01-01''::timestamp + i % 300 * interval ''1 day'''
\set index 'using rum (x)'
\set probe 'x < ''2020-02-01'''
\i parts/values.sql
create table docs (id int primary key, body tsvector, at timestamp, n int);
create index docs_rum on docs using rum (body rum_tsvector_addon_ops, at) with (attach = 'at', to = 'body');
insert into docs select g, to_tsvector('simple', 'alpha b' || g % 5 || ' c' || g % 11), '2020-01-01'::timestamp + g * interval '1 hour', 0 from generate_series(1, 2000) g;
update docs set at = at + interval '1000 days' where id % 9 = 0;
update docs set n = n + 1;
update docs set body = to_tsvector('simple', 'beta b' || id % 5) where id % 7 = 0;
begin; update docs set at = '1999-01-01', body = to_tsvector('simple', 'alpha'); rollback;
delete from docs where id % 10 = 0;
set enable_seqscan = off;
select id, at from docs where body @@ 'alpha & b3' order by at <=> '2020-01-05' limit 5;
vacuum docs;
select id, at from docs where body @@ 'alpha & b3' order by at <=> '2020-01-05' limit 5;
select id, at from docs where body @@ 'beta' order by at <=| '2022-12-01', id limit 5;
begin;
declare c cursor for select id, at, n from docs where body @@ 'beta & b1' order by at <=> '2020-01-05';
fetch 2 from c;
update docs set at = '2030-01-01', n = n + 100 where body @@ 'beta';
fetch 3 from c;
move all in c;
commit;
select id, at, n from docs where body @@ 'beta & b1' order by at <=> '2030-01-01', id limit 3;
