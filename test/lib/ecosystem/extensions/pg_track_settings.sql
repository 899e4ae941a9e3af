-- Snapshots of settings, kept in its own tables.
-- package: postgresql-15-pg-track-settings
create extension pg_track_settings;
create table t (id int primary key);
select pg_track_settings_snapshot();
alter database eco set work_mem = '17MB';
select pg_track_settings_snapshot();
alter database eco set work_mem = '18MB';
begin; select pg_track_settings_snapshot(); rollback;
select pg_track_settings_snapshot();
select count(distinct name) > 300 from pg_track_settings_list;
select setting from pg_track_db_role_settings_history where name = 'work_mem' and setdatabase = (select oid from pg_database where datname = 'eco') order by ts;
delete from pg_track_settings_history where name < 'm';
select count(*) > 100, pg_track_settings_reset() from pg_track_settings_history;
