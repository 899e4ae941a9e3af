-- Similar texts: GIN and GiST, ordered by distance.
create extension pg_trgm;
\set type text
\set value '''the quick '' || md5((i % 40)::text)'
\set index 'using gin (x gin_trgm_ops)'
\set probe 'x like ''%'' || substr(md5(''17''), 3, 6) || ''%'''
\i parts/values.sql
\set index 'using gist (x gist_trgm_ops)'
\set probe 'x % (''the quick '' || md5(''17''))'
\i parts/values.sql
set enable_seqscan = off;
select id, x from v order by x <-> ('the quick ' || md5('17')), id limit 5;
