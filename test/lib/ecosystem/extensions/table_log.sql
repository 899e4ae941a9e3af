-- Changes noted by the C trigger, and the table as it was before, restored from them.
-- package: postgresql-15-tablelog
create extension table_log;
create table t (id int primary key, n int, v text);
select table_log_init(5, 't');
insert into t select g, g, 'v' || g from generate_series(1, 20) g;
select clock_timestamp() as then \gset
update t set n = n * 10 where id % 2 = 0;
update t set v = null where id = 5;
begin; update t set n = -1; delete from t; rollback;
begin; savepoint a; delete from t where id < 5; rollback to a; delete from t where id > 15; commit;
select id, n, v, trigger_mode, trigger_tuple from t_log order by trigger_id;
set client_min_messages = warning;
select table_log_restore_table('t', 'id', 't_log', 'trigger_id', 'restored', :'then', null, 0, 1);
select count(*), sum(n), count(v) from restored;
select * from t order by id;
