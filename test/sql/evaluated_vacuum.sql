-- VACUUM removes entries that no snapshot needs, though no update inserts any into the index, and the mark
set client_min_messages = warning;
create extension if not exists amcheck;
set enable_seqscan = off; set enable_bitmapscan = off;
create extension if not exists pageinspect;
create table ek_jobs (id int, state text, n numeric, filler text default repeat('f', 50)) using zheap with (autovacuum_enabled = off, fillfactor = 50);
create index ek_jobs_pending on ek_jobs (id) where state = 'pending';
create index ek_jobs_abs on ek_jobs ((abs(n)));
create index ek_jobs_n on ek_jobs (n) include (filler);
create index on ek_jobs (filler); create index on ek_jobs (filler, id);
insert into ek_jobs select i, 'pending', i from generate_series(1, 300) i;
update ek_jobs set state = 'done' where id > 10;
update ek_jobs set n = -n where id % 2 = 0;
update ek_jobs set n = n * 1000 where id % 3 = 0;
create function ek_entries(index text) returns bigint language sql as $$
	select sum(coalesce(array_length(i.tids, 1), 1)) from generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) blk,
		bt_page_stats(index, blk::int) s, bt_page_items(index, blk::int) i
	where s.type = 'l' and not (s.btpo_next <> 0 and i.itemoffset = 1) $$;
select ek_entries('ek_jobs_pending'), ek_entries('ek_jobs_abs');
-- until no older snapshot is left; the server computes horizons again only after new transactions
do $$ begin
	for i in 1..2000 loop
		exit when not exists (select from pg_stat_activity where pid <> pg_backend_pid() and backend_xmin is not null);
		perform pg_sleep(0.01), pg_stat_clear_snapshot();
	end loop;
	perform pg_current_xact_id();
end $$;
vacuum ek_jobs;
select ek_entries('ek_jobs_pending'), ek_entries('ek_jobs_abs'), ek_entries('ek_jobs_n');
select count(*) from ek_jobs where id > 0 and state = 'pending';
select count(*) from ek_jobs where abs(n) > 0;
select count(*) from ek_jobs where n < 0;
select count(*) filter (where 'several_keys' = any (flags)) from generate_series(0, pg_relation_size('ek_jobs') / current_setting('block_size')::int - 1) blk, zheap.zheap_page_items('ek_jobs', blk);
select bt_index_parent_check(x, true, true) from unnest(array['ek_jobs_pending', 'ek_jobs_abs', 'ek_jobs_n']::regclass[]) x;
select * from zheap.zheap_verify('ek_jobs');
drop table ek_jobs;
drop function ek_entries;
drop extension amcheck, pageinspect;
