-- Tables published by pglogical, to heap tables: initial copy, changes, a change of definition, a resynchronization.  A table with a
-- row filter is copied by C code that takes only heap tables; its changes go through:
-- < 101
-- > ERROR:  only heap AM is supported
-- package: postgresql-15-pglogical
-- preload: pglogical
-- library: pglogical_output
-- set: wal_level = logical
-- set: track_commit_timestamp = on
\set provider eco
\set subscriber eco_other
\i parts/pglogical.sql
\c :provider
update t set n = n + 1 where id % 2 = 0;
update t set id = id + 2000 where id = 7;
begin; update t set n = 0; savepoint a; delete from t where id < 100; rollback to a; delete from t where id = 9; commit;
begin; delete from t; rollback;
delete from t where id % 5 = 0;
insert into adds select g, 'a' || g from generate_series(1, 10) g;
update adds set v = 'changed';
select pglogical.replicate_ddl_command('alter table public.t add column more int default 7', '{default}');
update t set more = 8 where id = 3;
insert into t values (5000, 1, 'last');
select count(*), sum(n), sum(more), md5(string_agg(id || v, ',' order by id)) from t;
\c :subscriber
call wait_for($$exists (select from t where id = 5000)$$);
select count(*), sum(n), sum(more), md5(string_agg(id || v, ',' order by id)) from t;
select count(*), min(v), max(v) from adds;
delete from t where id = 3;
select count(*) from pglogical.alter_subscription_resynchronize_table('s', 't');
call wait_for($$exists (select from t where id = 3)$$);
select count(*), sum(n), sum(more), md5(string_agg(id || v, ',' order by id)) from t;
\c :provider
select pglogical.replication_set_add_table('default', 'filtered', false, row_filter := 'n > 4');
insert into filtered select g, g % 10 from generate_series(101, 200) g;
update filtered set n = 9 where id = 101;
insert into t values (5001, 1, 'last');
select count(*) from pglogical.table_data_filtered(null::filtered, 'filtered', array['default']);
\c :subscriber
call wait_for($$exists (select from t where id = 5001)$$);
select count(*), sum(n) from filtered;
\i parts/pglogical_end.sql
