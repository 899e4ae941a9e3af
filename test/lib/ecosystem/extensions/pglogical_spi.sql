-- Tables to which pglogical writes by SPI what a provider's heap tables have.
-- package: postgresql-15-pglogical
-- preload: pglogical
-- library: pglogical_output
-- set: wal_level = logical
-- set: track_commit_timestamp = on
-- set: pglogical.use_spi = on
-- set: pglogical.conflict_resolution = 'error'
\set provider eco_other
\set subscriber eco
\i parts/pglogical.sql
\c :provider
update t set n = n + 1 where id % 2 = 0;
update t set id = id + 2000 where id = 7;
delete from t where id % 5 = 0;
begin; delete from t; rollback;
insert into t values (5001, 1, 'last');
select count(*), sum(n), md5(string_agg(id || v, ',' order by id)) from t;
\c :subscriber
call wait_for($$exists (select from t where id = 5001)$$);
select count(*), sum(n), md5(string_agg(id || v, ',' order by id)) from t;
\i parts/pglogical_end.sql
