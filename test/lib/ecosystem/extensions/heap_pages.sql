-- What looks at heap's pages, or changes them, is refused: amcheck's verify_heapam, pgstattuple,
-- pgrowlocks, pg_surgery, and two functions of pg_visibility.  The rest of these extensions works:
-- < 0
-- > ERROR:  only heap AM is supported
-- < t
-- > ERROR:  only heap AM is supported
-- < t
-- > ERROR:  only heap AM is supported
-- < 0
-- > ERROR:  only heap AM is supported
-- <
-- > ERROR:  only heap AM is supported
-- <
-- > ERROR:  only heap AM is supported
-- < 0
-- > ERROR:  pg_check_visible() cannot check table "t"
-- > DETAIL:  It reads tables with access method "zheap" as heap tables.
-- > HINT:  Use zheap.zheap_verify() to check the table.
-- < 0
-- > ERROR:  pg_check_frozen() cannot check table "t"
-- > DETAIL:  It reads tables with access method "zheap" as heap tables.
-- > HINT:  Use zheap.zheap_verify() to check the table.
create extension amcheck;
create extension pgstattuple;
create extension pgrowlocks;
create extension pg_surgery;
create extension pg_visibility;
create extension pageinspect;
create extension pg_freespacemap;
create extension pg_buffercache;
create extension pg_prewarm;
create extension old_snapshot;
create table t (id int primary key, n int);
insert into t select g, g from generate_series(1, 1000) g;
update t set n = n + 1 where id % 3 = 0;
select count(*) from verify_heapam('t');
select table_len > 0 from pgstattuple('t');
select table_len > 0 from pgstattuple_approx('t');
select count(*) from pgrowlocks('t');
select heap_force_freeze('t', array['(0,1)']::tid[]);
select heap_force_kill('t', array['(0,2)']::tid[]);
select count(*) from pg_check_visible('t');
select count(*) from pg_check_frozen('t');
delete from t where id = 2;
vacuum t;
select count(*) from t;
select bt_index_check('t_pkey', true), bt_index_parent_check('t_pkey', true, true);
select index_size > 0 from pgstatindex('t_pkey');
select pg_relpages('t') * 8192 = pg_relation_size('t');
select count(*) > 0 from pg_visibility_map('t') where all_visible;
select pg_truncate_visibility_map('t');
select count(*) from pg_visibility_map('t') where all_visible;
select max(avail) < 8192 from pg_freespace('t');
select pg_prewarm('t') * 8192 = pg_relation_size('t');
select count(*) > 0 from pg_buffercache where relfilenode = pg_relation_filenode('t');
select type from bt_page_stats('t_pkey', 1);
select count(*) > 100 from heap_page_items(get_raw_page('t', 0)) where lp_flags = 1;
select count(*) from pg_old_snapshot_time_mapping() where false;
