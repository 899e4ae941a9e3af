-- zheap_stat_cache: how often the status of transactions is looked up, with and without a cache
-- four rows a page, each of another transaction
create table cached (id int primary key, v int, pad char(1900) default 'x') using zheap;
-- holds the horizon back, so that who made the rows matters
begin;
insert into cached values (0, 0);
prepare transaction 'stat_cache';
create view looked_up as select * from zheap.zheap_stat_cache;
-- are few of the rows' transactions looked up?  What workers look up meanwhile is counted as well: then all is tried again, if
-- with_new_rows with rows of 40 new transactions
create procedure few_are_looked_up(with_new_rows bool) language plpgsql as $$
declare
	few bool;
	saved bool;
begin
	for try in 0..19 loop
		for i in 1..40 loop
			exit when not with_new_rows;
			insert into cached values (40 * try + i, i);
			commit;
		end loop;
		perform zheap.zheap_stat_cache_reset();
		perform count(*) from cached;
		select commit_log_lookups < 40, commit_log_lookups_saved >= 40 into few, saved from looked_up;
		exit when few;
	end loop;
	raise notice 'few: %, saved: %', few, saved;
end $$;
-- the session knows of its own transactions
call few_are_looked_up(true);
delete from cached where id > 40;
-- a new cache, whatever its size, begins empty, and knows them the next time
set zheap.status_cache_size = 1;
select zheap.zheap_stat_cache_reset();
select count(*) from cached;
select commit_log_lookups >= 40 as asked from looked_up;
call few_are_looked_up(false);
-- none: asks each time
set zheap.status_cache_size = 0;
select zheap.zheap_stat_cache_reset();
select count(*) from cached;
select count(*) from cached;
select commit_log_lookups >= 80 as asked from looked_up;
-- the statement's snapshot knows that they have ended
do $$
declare
	few bool;
	saved bool;
begin
	for try in 1..20 loop
		begin
			perform zheap.zheap_stat_cache_reset();
			update cached set v = v + 1 where id > 0;
			select process_array_lookups < 40, process_array_lookups_saved >= 40 into few, saved from looked_up;
			raise division_by_zero;
		exception when division_by_zero then
		end;
		exit when few;
	end loop;
	raise notice 'few: %, saved: %', few, saved;
end $$;
reset zheap.status_cache_size;
select count(*), sum(v) from cached;
-- not for everybody
create role cache_reader;
grant usage on schema zheap to cache_reader;
set role cache_reader;
select * from zheap.zheap_stat_cache;
select * from zheap.zheap_cache_stats();
select zheap.zheap_stat_cache_reset();
select * from zheap.zheap_stat_io;
select * from zheap.zheap_io_stats();
select zheap.zheap_stat_io_reset();
reset role;
grant pg_monitor to cache_reader;
set role cache_reader;
select count(*) from zheap.zheap_stat_cache;
select reader from zheap.zheap_stat_io;
reset role;
revoke usage on schema zheap from cache_reader;
drop role cache_reader;
rollback prepared 'stat_cache';
drop procedure few_are_looked_up;
drop view looked_up;
drop table cached;
