-- Snapshots of statistics, gathered into and aggregated in its own tables.
-- package: postgresql-15-powa
-- package: postgresql-15-pg-qualstats
-- package: postgresql-15-pg-stat-kcache
-- preload: pg_stat_statements
-- preload: pg_stat_kcache
-- preload: pg_qualstats
-- preload: powa
-- set: powa.frequency = -1
-- set: powa.coalesce = 5
create extension powa cascade;
create extension pg_stat_kcache;
create extension pg_qualstats;
select powa_kcache_register();
create table t (id int primary key, n int);
insert into t select g, g from generate_series(1, 1000) g;
set client_min_messages = warning;
select powa_take_snapshot() is not null from generate_series(1, 4);
update t set n = n + 1 where n > 50;
do $$ begin for i in 1..8 loop perform count(*) from t where n = i; perform powa_take_snapshot(); end loop; end $$;
select count(*) > 0 from powa_statements_history;
select count(*) > 0 from powa_statements_history_current;
select (select coalesce_seq from powa_snapshot_metas) > 5;
begin; select powa_reset(0); rollback;
select count(*) > 0 from powa_statements;
select powa_reset(0);
delete from powa_databases where srvid = 0;
