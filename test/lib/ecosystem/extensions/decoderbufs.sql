-- Decoded changes as protocol buffers.
-- package: postgresql-15-decoderbufs
-- library: decoderbufs
-- set: wal_level = logical
create table t (id int primary key, n int, v text, f float8, a int[], at timestamptz default '2020-01-01', b bytea, num numeric);
create table whole (id int, v text);
alter table whole replica identity full;
select 1 from pg_create_logical_replication_slot('s', 'decoderbufs');
insert into t select g, g, 'v' || g, g / 7.0, array[g], '2021-01-01', 'xy', g / 3.0 from generate_series(1, 5) g;
insert into t values (6, 6, (select string_agg(md5(g::text), '') from generate_series(1, 300) g));
update t set n = n + 1 where id in (2, 6);
update t set id = id + 100 where id = 3;
begin; do $$ begin for i in 1..200 loop update t set n = 0 where id = i; end loop; end $$; savepoint a; delete from t where id < 3; rollback to a; commit;
begin; delete from t; rollback;
insert into whole values (1, 'w'), (2, null);
update whole set v = 'x' where id = 2;
delete from whole where id = 1;
delete from t where id = 103;
select regexp_replace(regexp_replace(data, 'txid\[\d+\], commit_time\[\d+\]', ''), '\d{12,}', 'N', 'g') from pg_logical_slot_peek_changes('s', null, null, 'debug-mode', 'on');
select count(*), sum(length(data)) from pg_logical_slot_get_binary_changes('s', null, null);
select pg_drop_replication_slot('s');
