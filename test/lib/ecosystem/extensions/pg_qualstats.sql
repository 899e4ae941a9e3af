-- Statistics of the conditions by which rows are looked for.
-- package: postgresql-15-pg-qualstats
-- preload: pg_stat_statements
-- preload: pg_qualstats
-- set: pg_qualstats.sample_rate = 1
create extension pg_qualstats;
create table t (id int primary key, n int, v text);
insert into t select g, g % 100, 'v' || g from generate_series(1, 5000) g;
analyze t;
select pg_qualstats_reset();
select count(*) from t where n = 17;
select count(*) from t where n > 17 and v like 'v1%';
update t set n = n + 1 where n = 5;
delete from t where v = 'v77';
begin; delete from t where n = 9; rollback;
select lrelid::regclass, lattnum, opno::regoper, sum(occurences), sum(execution_count), sum(nbfiltered) from pg_qualstats where lrelid = 't'::regclass group by 1, 2, 3 order by 2, 3::text;
select v from json_array_elements(pg_qualstats_index_advisor(min_filter => 50)->'indexes') v;
