-- What statements on tables cost in the kernel's figures.
-- package: postgresql-15-pg-stat-kcache
-- preload: pg_stat_statements
-- preload: pg_stat_kcache
create extension pg_stat_statements;
create extension pg_stat_kcache;
create table t (id int primary key, n int);
insert into t select g, g from generate_series(1, 5000) g;
update t set n = n + 1;
begin; delete from t; rollback;
select count(*), sum(n) from t;
select query, calls, rows from pg_stat_statements where dbid = (select oid from pg_database where datname = 'eco') and query ~ '\mt\M' and query !~ 'create|pg_stat' order by query collate "C";
select count(*) > 3 from pg_stat_kcache_detail where datname = 'eco' and exec_reads >= 0;
