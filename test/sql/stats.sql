-- ANALYZE, planner estimates, TABLESAMPLE and statistics counters judge rows as heap does.
-- Tables smaller than the sample, so that the numbers are exact; wide bounds for the rest.
create table sta_t (id int, few int, nul text, skew int) using zheap;
insert into sta_t select g, g % 10, case when g % 4 = 0 then 'x' || g end, case when g % 2 = 0 then 42 else g end
  from generate_series(1, 10000) g;
create view sta_v as
	select attname, null_frac::numeric(6, 4), n_distinct::numeric(10, 4), avg_width, most_common_vals::text = '{42}' as mcv_42,
		cardinality(most_common_vals) as mcvs, cardinality(histogram_bounds) as bounds
	  from pg_stats where tablename = 'sta_t';
create function sta_pages_right() returns boolean language sql as $$
	select relpages = pg_relation_size(oid) / current_setting('block_size')::int from pg_class where relname = 'sta_t'
$$;
analyze sta_t;
select reltuples, sta_pages_right() from pg_class where relname = 'sta_t';
table sta_v order by attname;
-- deleted, changed and rolled-back rows
delete from sta_t where id > 9000;
update sta_t set few = few + 100 where few < 5;
begin;
update sta_t set nul = 'rolled back', skew = id;
insert into sta_t select 1, 1, 'rolled back', 1 from generate_series(1, 3000);
rollback;
analyze sta_t;
select reltuples, sta_pages_right() from pg_class where relname = 'sta_t';
table sta_v order by attname;
-- analyze sees its own transaction's changes as heap's does
begin;
delete from sta_t where id <= 1000;
insert into sta_t select g, 7, null, 42 from generate_series(20001, 22000) g;
update sta_t set few = 5 where few = 105;
analyze sta_t;
select reltuples from pg_class where relname = 'sta_t';
table sta_v order by attname;
rollback;
analyze sta_t (id);
vacuum analyze sta_t;
select reltuples, sta_pages_right() from pg_class where relname = 'sta_t';
table sta_v order by attname;
-- estimates
create function sta_estimate(query text) returns float8 language plpgsql as $$
declare j json;
begin
	execute 'explain (format json) ' || query into j;
	return (j->0->'Plan'->>'Plan Rows')::float8;
end $$;
select sta_estimate('select * from sta_t') = 9000 as all,
	sta_estimate('select * from sta_t where skew = 42') between 4000 and 5000 as mcv,
	sta_estimate('select * from sta_t where nul is null') between 6000 and 7500 as nulls,
	sta_estimate('select * from sta_t where id < 900') between 800 and 1000 as range;
-- a table never analyzed, an empty one, an emptied one
create table sta_new (id int, body text) using zheap;
analyze sta_new;
select reltuples, relpages from pg_class where relname = 'sta_new';
insert into sta_new select g, repeat('x', 100) from generate_series(1, 5000) g;
select sta_estimate('select * from sta_new') between 1000 and 20000 as guess;
delete from sta_new;
analyze sta_new;
select reltuples from pg_class where relname = 'sta_new';
-- a large table, sampled
create table sta_big (id int, k int) using zheap;
insert into sta_big select g, g % 5 from generate_series(1, 200000) g;
delete from sta_big where k = 0;
set default_statistics_target = 10;
analyze sta_big;
select reltuples between 155000 and 165000 as tuples from pg_class where relname = 'sta_big';
select n_distinct from pg_stats where tablename = 'sta_big' and attname = 'k';
create statistics sta_ext (dependencies, ndistinct) on few, skew from sta_t;
analyze sta_t;
select count(*) from pg_stats_ext where statistics_name = 'sta_ext' and n_distinct is not null;

-- samples: all, nothing, some, repeatable, and only what the snapshot sees
select count(*), sum(id) from sta_t tablesample system (100);
select count(*), sum(id) from sta_t tablesample bernoulli (100);
select count(*) from sta_t tablesample bernoulli (0);
select count(*) between 3500 and 5500 as half from sta_t tablesample bernoulli (50) repeatable (1);
select count(*) between 100 and 8900 as some from sta_t tablesample system (50) repeatable (2);
select (select array_agg(id) from sta_t tablesample bernoulli (5) repeatable (3)) =
	(select array_agg(id) from sta_t tablesample bernoulli (5) repeatable (3)) as same;
select count(*) from sta_t tablesample bernoulli (30) where id > 9000;
begin;
declare c cursor for select count(*), sum(id) from sta_t tablesample bernoulli (100);
declare d cursor for select count(*), sum(id) from sta_t tablesample system (100);
delete from sta_t where id % 2 = 0;
update sta_t set few = 0;
insert into sta_t values (100000, 1, '', 1);
fetch c;
fetch d;
select count(*), sum(id) from sta_t tablesample system (100);
select count(*), sum(id) from sta_t tablesample bernoulli (100);
rollback;
select count(*), sum(id) from sta_t tablesample system (100);

-- counters: what was inserted, updated, deleted
create table sta_c (id int primary key, n int) using zheap;
insert into sta_c select g, 0 from generate_series(1, 100) g;
update sta_c set n = 1 where id <= 50;
delete from sta_c where id > 90;
begin;
insert into sta_c values (1000, 1);
update sta_c set n = 2 where id = 1;
rollback;
select pg_stat_force_next_flush();
select n_tup_ins, n_tup_upd, n_tup_del, n_live_tup from pg_stat_user_tables where relname = 'sta_c';
select seq_scan > 0 as seq, idx_scan >= 0 as idx from pg_stat_user_tables where relname = 'sta_c';

-- rows whose insertion was rolled back are dead, swept or not
create table sta_a (id int primary key) using zheap with (autovacuum_enabled = off);
insert into sta_a select generate_series(1, 100);
begin;
insert into sta_a select generate_series(101, 1100);
rollback;
select pg_stat_force_next_flush();
analyze sta_a;
select n_live_tup, n_dead_tup from pg_stat_user_tables where relname = 'sta_a';
drop view sta_v;
drop table sta_t, sta_new, sta_big, sta_c, sta_a;
drop function sta_pages_right, sta_estimate;

-- a prepared transaction's updates in place leave nothing dead either
create table st_2pc (id int primary key, n int) using zheap with (autovacuum_enabled = off);
insert into st_2pc select g, 0 from generate_series(1, 1000) g;
select pg_stat_force_next_flush();
begin;
update st_2pc set n = 1;
prepare transaction 'st_2pc';
select pg_stat_force_next_flush();
commit prepared 'st_2pc';
select pg_stat_force_next_flush();
select n_tup_ins, n_tup_upd, n_dead_tup from pg_stat_user_tables where relname = 'st_2pc';
drop table st_2pc;
