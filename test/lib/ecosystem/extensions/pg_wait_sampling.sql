-- Samples of what sessions wait for: a background worker beside transactions.
-- package: postgresql-15-pg-wait-sampling
-- preload: pg_wait_sampling
create extension pg_wait_sampling;
create table t (id int primary key, n int);
insert into t select g, g from generate_series(1, 1000) g;
update t set n = n + 1;
select pg_sleep(0.2);
select count(*) > 0 from pg_wait_sampling_profile where event = 'PgSleep';
select count(*) > 0 from pg_wait_sampling_current;
select count(*), sum(n) from t;
