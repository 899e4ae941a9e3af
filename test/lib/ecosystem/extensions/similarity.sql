-- Similarity operators, and the GIN operator class.
-- package: postgresql-15-similarity
create extension pg_similarity;
\set type text
\set value '''the quick '' || md5((i % 40)::text) || '' fox'''
\set index 'using gin (x gin_similarity_ops)'
\set probe 'x ~~~ (''the quick '' || md5(''17'') || '' fox'')'
set pg_similarity.jaccard_threshold = 0.9;
set pg_similarity.cosine_threshold = 0.9;
create table names (id int primary key, n text);
insert into names select g, 'name ' || g % 30 from generate_series(1, 300) g;
update names set n = n || 'x' where id % 3 = 0;
begin; update names set n = ''; rollback;
select count(*), sum(lev(n, 'name 17x')::numeric(10, 4)), sum(jarowinkler(n, 'nane 12')::numeric(10, 4)) from names;
select count(*) from names where n ~== 'name 17';
create index names_gin on names using gin (n gin_similarity_ops);
update names set n = 'other ' || n where id % 7 = 0;
delete from names where id % 11 = 0;
vacuum names;
set enable_seqscan = off;
select count(*), sum(id) from names where n ~?? 'name 17';
select count(*), sum(id) from names where n ~## 'other name 17';
