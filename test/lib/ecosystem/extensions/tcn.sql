-- Notifications of the keys that have changed.
create extension tcn;
create table t (id int, part text, n int, primary key (id, part));
create trigger tcn after insert or update or delete on t for each row execute function triggered_change_notification('changed');
listen changed;
insert into t select g, 'p', g from generate_series(1, 3) g;
update t set n = n + 1 where id = 2;
update t set id = 30 where id = 3;
begin; delete from t; rollback;
begin; savepoint a; delete from t where id = 1; rollback to a; delete from t where id = 2; commit;
select * from t order by id;
