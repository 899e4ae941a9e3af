-- Tables to which pglogical's worker writes what a provider's heap tables have.  The initial copy works; then the worker, whose C code
-- takes the slots of each table for heap's, is refused, and comes again and again:
-- < t|502|0
-- > f|501|3
-- package: postgresql-15-pglogical
-- preload: pglogical
-- library: pglogical_output
-- set: wal_level = logical
-- set: track_commit_timestamp = on
\set provider eco_other
\set subscriber eco
\i parts/pglogical.sql
\c :provider
update t set n = 0 where id = 3;
insert into t values (5001, 1, 'last');
\c :subscriber
call wait_for($$(exists (select from t where id = 5001) or (select status = 'down' from pglogical.show_subscription_status('s')))$$);
select exists (select from t where id = 5001), count(*), max(n) filter (where id = 3) from t;
-- nothing is lost: the table becomes a heap table, and the worker goes on
alter table t set access method heap;
call wait_for($$exists (select from t where id = 5001)$$);
select count(*), max(n) filter (where id = 3) from t;
\i parts/pglogical_end.sql
