-- What zheap_stat_tables counts: updates in place, with several keys, moved and why
create table counted (id int primary key, a int, b int, c int, lower_a text) using zheap with (autovacuum_enabled = off);
create index counted_a on counted (a);
create index counted_b on counted (b);
create index counted_lower on counted (lower(lower_a));
insert into counted select i, i, i, i, 'x' from generate_series(1, 100) i;
create view counts as select updated_in_place, updated_several_keys, moved_index, moved_share, moved_room, moved_history
	from zheap.zheap_stat_tables where schemaname = 'public' and relname = 'counted';
-- a table that nothing was counted of is not there
select * from counts;
update counted set c = c + 1 where id <= 10;
select * from counts;
-- 1 of 4 indexes changes, or 2; then 3 of 4
update counted set a = a + 1000 where id <= 7;
update counted set a = a + 1000, b = b + 1000 where id <= 2;
set zheap.max_changed_indexes = 25;
update counted set a = a + 1000, b = b + 1000 where id <= 3;
reset zheap.max_changed_indexes;
select * from counts;
-- unique index, and one on an expression
update counted set id = id + 1000 where id between 11 and 14;
update counted set lower_a = 'Y' where id between 15 and 19;
select * from counts;
-- updates that are rolled back count; those of a temporary table don't
begin;
update counted set c = 0 where id between 20 and 25;
rollback;
create temporary table counted_temp (id int) using zheap;
insert into counted_temp values (1);
update counted_temp set id = 2;
select * from counts;
select count(*) from zheap.zheap_stat_tables where relname = 'counted_temp';
-- n_tup_hot_upd: those of which no index got an entry; the others leave something for VACUUM
select pg_stat_force_next_flush();
select n_tup_upd = updated_in_place + updated_several_keys + moved_index + moved_share + moved_room + moved_history as each,
		n_tup_hot_upd = updated_in_place as hot, n_dead_tup = n_tup_upd - n_tup_hot_upd as dead
	from zheap.zheap_stat_tables join pg_stat_user_tables using (relid) where relid = 'counted'::regclass;
-- rows that their pages have no room for
create table counted_room (id int, pad text) using zheap;
insert into counted_room select i, 'x' from generate_series(1, 1000) i;
update counted_room set pad = repeat('y', 500);
select updated_in_place + moved_room = 1000 as all, moved_room > 800 as most
	from zheap.zheap_stat_tables where relname = 'counted_room';
-- the reasons for which an index makes rows move; moved_index is their sum
create table counted_why (id int, u int unique, x int4range, n numeric, i int, j int, t text, v text, e int, l int,
	exclude using gist (x with &&)) using zheap with (autovacuum_enabled = off);
alter table counted_why alter t set storage external, alter v set storage external;
create index on counted_why (n);
create index on counted_why (i) include (j);
create index on counted_why (t);
create index on counted_why using brin (v);
-- a function that is not in C
create function counted_abs(int) returns int immutable language plpgsql as 'begin return abs($1); end';
create index on counted_why (counted_abs(e));
insert into counted_why select i, i, int4range(i, i + 1), 1.0, i, i, 'x', 'x', i, 0 from generate_series(1, 10) i;
create unique index concurrently counted_invalid on counted_why (l);
create view why as select moved_unique, moved_equal_key, moved_kind, moved_invalid, moved_budget,
		moved_index = moved_unique + moved_equal_key + moved_kind + moved_invalid + moved_budget as sum, updated_in_place + updated_several_keys as stayed
	from zheap.zheap_stat_tables where relid = 'counted_why'::regclass;
update counted_why set u = 101 where id = 1;
update counted_why set x = int4range(102, 103) where id = 2;
select * from why;
update counted_why set n = 1.00 where id = 1;
update counted_why set j = 0 where id = 2;
update counted_why set t = repeat('y', 2100) where id = 3;
update counted_why set v = repeat('y', 2100) where id = 4;
select * from why;
update counted_why set e = -1 where id = 1;
select * from why;
-- an index whose build has failed; that it is unique does not count
update counted_why set l = 1 where id = 1;
select * from why;
-- several indexes at once: the first counts
update counted_why set u = 102, n = 1.000, e = -2 where id = 2;
select * from why;
-- and none
update counted_why set t = 'z', v = 'z' where id = 5;
select * from why;
-- an index that refers to whole rows: each update
create index counted_whole on counted_why ((counted_why is null));
update counted_why set id = 0 where id = 10;
select * from why;
drop view why;
drop table counted_why;
drop function counted_abs;
-- reset: one table, then all
select zheap.zheap_stat_tables_reset('counted'::regclass);
select * from counts;
select sum(moved_room) > 0 as other_stays from zheap.zheap_stat_tables where relname = 'counted_room';
update counted set c = c + 1 where id <= 3;
select * from counts;
select zheap.zheap_stat_tables_reset(0), updated_in_place from counts;
select zheap.zheap_stat_tables_reset();
select sum(updated_in_place + moved_room) from zheap.zheap_stat_tables where relname like 'counted%';
-- a table that nothing has been counted of, and one that is not there
create table counted_not (id int) using zheap;
select zheap.zheap_stat_tables_reset('counted_not'::regclass);
select count(*) from zheap.zheap_stat_tables where relname = 'counted_not';
drop table counted_not;
-- dropped, and the drop rolled back
begin;
savepoint s;
drop table counted_room;
rollback to s;
commit;
select count(*) from zheap.zheap_stat_tables where relname = 'counted_room';
select 'counted_room'::regclass::oid as room \gset
drop table counted_room;
select count(*) from zheap.zheap_table_stats() where relid = :room;
-- tables that are dropped by the commit itself, and one after them
begin; create temporary table counted_temp2 (id int primary key) using zheap on commit drop; commit;
begin; create temporary table counted_temp2 (id int primary key) using zheap on commit drop; commit;
create table counted_room (id int) using zheap;
drop table counted_room;
-- not for everybody
create role counted_reader;
grant usage on schema zheap to counted_reader;
set role counted_reader;
select * from zheap.zheap_stat_tables;
select * from zheap.zheap_table_stats();
select zheap.zheap_stat_tables_reset();
reset role;
grant execute on function zheap.zheap_stat_tables_reset to counted_reader;
set role counted_reader;
select zheap.zheap_stat_tables_reset();
reset role;
revoke execute on function zheap.zheap_stat_tables_reset from counted_reader;
revoke usage on schema zheap from counted_reader;
drop role counted_reader;
drop view counts;
drop table counted, counted_temp;
