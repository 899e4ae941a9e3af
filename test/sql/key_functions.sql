-- Rows with several keys, and indexes whose functions are not to be executed by readers or VACUUM, as on heap
set client_min_messages = warning;
create schema kf_s;
create function kf_s.kf_inner(int) returns int immutable language plpgsql as 'begin return $1 + 1; end';
create function kf_outer(int) returns int immutable language plpgsql as $$ begin raise notice 'executed'; return kf_inner($1); end $$;
create table kf (id int, a int, b int) using zheap with (autovacuum_enabled = off, fillfactor = 50);
set search_path = public, kf_s;
create index kf_b on kf (b, kf_outer(b));
create index kf_pred on kf (b, id) where kf_outer(b) > 1;
create index on kf (a); create index on kf (id); create index on kf (id, b);
insert into kf select i, i, i % 3 from generate_series(1, 6) i;
update kf set a = a + 100 where id < 4;
set search_path = public;
set client_min_messages = notice;
set enable_seqscan = off; set enable_bitmapscan = off;
explain (costs off) select b, id from kf where b >= 1;
select b, id, a from kf where b >= 1;
do $$ begin
	for i in 1..2000 loop
		exit when not exists (select from pg_stat_activity where pid <> pg_backend_pid() and backend_xmin is not null);
		perform pg_sleep(0.01), pg_stat_clear_snapshot();
	end loop;
	perform pg_current_xact_id();
end $$;
vacuum kf;
-- the mark is gone
select count(*) filter (where 'several_keys' = any (flags)) from generate_series(0, pg_relation_size('kf') / current_setting('block_size')::int - 1) blk, zheap.zheap_page_items('kf', blk);
select b, id, a from kf where b >= 1;
drop table kf;
-- a reader without the permission to execute a function in C, which the owner has
create role kf_reader;
create function kf_abs(int) returns int immutable strict language internal as 'int4abs';
create table kf (id int, a int, b int) using zheap with (autovacuum_enabled = off, fillfactor = 50);
create index kf_b on kf (b, kf_abs(a));
create index kf_pred on kf (id, b) where kf_abs(a) > 0;
create index on kf (a); create index on kf (id); create index on kf (b);
insert into kf select i, i, i % 3 from generate_series(1, 6) i;
update kf set a = a + 100 where id < 4;
revoke execute on function kf_abs from public;
grant select on kf to kf_reader;
drop index kf_b_idx;
set role kf_reader;
explain (costs off) select b, id, a from kf where b >= 1;
select b, id, a from kf where b >= 1;
select kf_abs(1);
select current_user;
reset role;
drop table kf;
-- VACUUM forms no keys of an index that is not valid, as it would be after a concurrent build that has failed
create table kf (id int, a int, b int) using zheap with (autovacuum_enabled = off, fillfactor = 50);
create index kf_e on kf ((1 / b));
create index on kf (a); create index on kf (id); create index on kf (id, a);
insert into kf select i, i, i from generate_series(1, 6) i;
update pg_index set indisvalid = false, indisready = false where indexrelid = 'kf_e'::regclass;
insert into kf values (7, 7, 0);
update pg_index set indisready = true where indexrelid = 'kf_e'::regclass;
update kf set a = 8 where id >= 6;
select count(*) filter (where 'several_keys' = any (flags)) from generate_series(0, pg_relation_size('kf') / current_setting('block_size')::int - 1) blk, zheap.zheap_page_items('kf', blk);
vacuum kf;
select * from kf where id >= 6 order by id;
select * from zheap.zheap_verify('kf');
drop table kf;
drop function kf_abs, kf_outer, kf_s.kf_inner;
drop schema kf_s;
drop role kf_reader;
