-- Both formats of decoded changes, with old keys, toasted values that have not changed, and rolled-back subtransactions.
-- package: postgresql-15-wal2json
-- library: wal2json
-- set: wal_level = logical
create table t (id int primary key, n int, v text, at timestamptz default '2020-01-01');
create table whole (id int, n int, v text);
alter table whole replica identity full;
create table no_key (id int, v text);
select 1 from pg_create_logical_replication_slot('s', 'wal2json');
insert into t select g, g, 'v' || g from generate_series(1, 5) g;
insert into t values (6, 6, (select string_agg(md5(g::text), '') from generate_series(1, 300) g));
update t set n = n + 1 where id in (2, 6);
update t set id = id + 100 where id = 3;
begin; do $$ begin for i in 1..200 loop update t set n = 0 where id = i; end loop; end $$; savepoint a; delete from t where id < 3; rollback to a; insert into t values (7, 7); commit;
begin; delete from t; rollback;
insert into whole select g, g, 'w' from generate_series(1, 3) g;
update whole set n = n * 10 where id = 2;
delete from whole where id = 3;
insert into no_key values (1, 'a');
update no_key set v = 'b';
delete from t where id = 103;
insert into t values (2, 0) on conflict (id) do update set n = 77;
copy t (id, n) from stdin;
20	1
21	2
\.
truncate no_key;
alter table t add column more int default 5;
update t set n = -1 where id = 20;
select data from pg_logical_slot_peek_changes('s', null, null, 'include-types', 'true', 'pretty-print', 'true', 'add-tables', 'public.*');
select data from pg_logical_slot_get_changes('s', null, null, 'format-version', '2', 'include-pk', 'true', 'add-tables', 'public.*');
select pg_drop_replication_slot('s');
