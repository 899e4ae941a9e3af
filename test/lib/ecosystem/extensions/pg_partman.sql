-- Partitions made and dropped by maintenance, rows of the default partition moved, a trigger-based set, partitioning undone.
-- package: postgresql-15-partman
create extension pg_partman;
create schema app;
create table app.events (id bigint primary key, v text) partition by range (id);
select create_parent('app.events', 'id', 'native', '1000', p_premake := 2);
insert into app.events select g, 'v' || g from generate_series(1, 3500) g;
insert into app.events select g, 'far' from generate_series(7100, 7200) g;
select count(*) from app.events_default;
select partition_data_id('app.events', 100);
call partition_data_proc('app.events');
select count(*) from app.events_default;
call run_maintenance_proc();
update app.events set v = 'changed' where id % 7 = 0;
update app.events set id = id + 1000 where id between 2000 and 2010 and id + 1000 > 3500;
begin; update app.events set v = ''; select run_maintenance('app.events'); rollback;
update part_config set retention = '4000', retention_keep_table = false where parent_table = 'app.events';
select run_maintenance('app.events');
select min(id), max(id), count(*), md5(string_agg(v, ',' order by id)) from app.events;
select tableoid::regclass, count(*) from app.events group by 1 order by tableoid::regclass::text;
select partition_type, parent_table, premake, retention from part_config;
create table app.days (day timestamptz not null, v int);
create index on app.days (v);
select create_parent('app.days', 'day', 'partman', 'daily', p_premake := 2);
insert into app.days select now() + g % 5 * interval '1 day' - interval '2 days', g from generate_series(1, 500) g;
select count(*), (select count(*) from only app.days) from app.days;
select partition_data_time('app.days', 10);
update app.days set v = v + 1 where v % 2 = 0;
select run_maintenance();
select count(*), sum(v), (select count(*) from only app.days) from app.days;
create table app.target (like app.events including all);
select undo_partition('app.events', 20, p_target_table := 'app.target', p_keep_table := false);
select count(*), md5(string_agg(v, ',' order by id)) from app.target;
select relname, amname = current_setting('default_table_access_method') from pg_class c join pg_am a on a.oid = relam
	where relnamespace = 'app'::regnamespace and relname in ('target', 'days') order by 1;
select count(*) from check_default();
