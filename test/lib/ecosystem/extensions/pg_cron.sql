-- Jobs made, altered, run by the background worker, which writes what it did, and unscheduled: its C code deletes rows of its
-- table.  A job changes a table of the user.
-- package: postgresql-15-cron
-- preload: pg_cron
-- set: cron.database_name = 'eco'
-- set: cron.use_background_workers = on
create extension pg_cron;
\i parts/wait.sql
create table t (id int primary key, n int);
insert into t select g, 0 from generate_series(1, 1000) g;
select cron.schedule('nightly', '0 3 * * *', 'vacuum');
select cron.schedule('often', '* 3 * * *', 'update t set n = n + 1');
select cron.schedule('works', '* * * * *', 'update t set n = 1 where id % 3 = 0');
select cron.schedule('fails', '* * * * *', 'update t set n = n / 0');
select cron.alter_job(2, schedule := '5 4 * * *', active := false);
update cron.job set nodename = '' where jobid = 1;
begin; select cron.schedule('gone', '1 1 * * *', 'select 1'); select cron.unschedule('often'); rollback;
select jobid, schedule, command, database, active, jobname from cron.job order by jobid;
call wait_for($$(select count(distinct jobid) = 2 from cron.job_run_details where status in ('succeeded', 'failed'))$$);
select cron.unschedule('nightly');
select cron.unschedule(jobid) from cron.job where jobname = 'fails';
select cron.unschedule('works');
select distinct jobid, database, command, status, return_message from cron.job_run_details order by jobid;
select sum(n) from t;
select cron.schedule('often', '6 6 * * *', 'select 1');
select cron.unschedule('often');
select cron.schedule('last', '6 6 * * *', 'select 2');
select jobid, schedule, command, jobname from cron.job order by jobid;
delete from cron.job_run_details where status = 'failed';
vacuum cron.job, cron.job_run_details;
select distinct jobid, status from cron.job_run_details;
truncate cron.job_run_details;
