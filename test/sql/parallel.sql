-- Parallel scans, joins and index builds give what serial ones give, also over uncommitted and rolled-back rows.
-- Planner costs are set so that two workers are planned; plans are shown without costs.
create table par_t (id int, k int, v text) using zheap with (parallel_workers = 2);
insert into par_t select g, g % 1000, 'v' || g from generate_series(1, 50000) g;
analyze par_t;
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0; set max_parallel_workers_per_gather = 2; set max_parallel_workers = 8;
set parallel_leader_participation = on; set enable_indexonlyscan = off;
explain (costs off) select count(*), sum(id) from par_t;
create function par_compare() returns table (rows bigint, sum bigint, k bigint, same boolean) language plpgsql as $$
declare n bigint; s bigint; m bigint;
begin
	set local max_parallel_workers_per_gather = 0;
	select count(*), sum(id) + sum(length(v)), sum(t.k) from par_t t into n, s, m;
	set local max_parallel_workers_per_gather = 2;
	select count(*), sum(id) + sum(length(v)), sum(t.k) from par_t t into rows, sum, k;
	same := row(n, s, m) is not distinct from row(rows, sum, k);
	set local parallel_leader_participation = off;
	select count(*), sum(id) + sum(length(v)), sum(t.k) from par_t t into rows, sum, k;
	same := same and row(n, s, m) is not distinct from row(rows, sum, k);
	set local parallel_leader_participation = on;
	return next;
end $$;
select * from par_compare();
update par_t set k = k + 1 where id % 7 = 0;
delete from par_t where id % 11 = 0;
select * from par_compare();
-- workers see what their leader's transaction has done
begin;
update par_t set k = -k, v = 'a longer value than before' where id % 3 = 0;
insert into par_t select g, g, 'new' from generate_series(60001, 65000) g;
savepoint s;
update par_t set k = 100000 where id % 2 = 0;
delete from par_t where id % 5 = 0;
select * from par_compare();
rollback to s;
select * from par_compare();
savepoint s2;
delete from par_t where id < 1000;
release s2;
select * from par_compare();
rollback;
select * from par_compare();
-- a snapshot from before
begin;
declare c cursor for select count(*), sum(id) from par_t;
delete from par_t where id % 2 = 0;
fetch all c;
rollback;

-- index builds
set min_parallel_table_scan_size = 0; set max_parallel_maintenance_workers = 2; set maintenance_work_mem = '96MB';
create index par_k on par_t (k);
create unique index par_id on par_t (id);
create index par_expr on par_t ((k + id)) where id % 2 = 0;
begin;
update par_t set k = 77 where id % 100 = 0;
create index par_k2 on par_t (k, id);
delete from par_t where id % 100 = 50;
commit;
set max_parallel_workers_per_gather = 0; set enable_seqscan = off; set enable_bitmapscan = off;
select count(v), sum(id) from par_t where k between -1000000 and 1000000;
select count(v), sum(id) from par_t where id between 1 and 1000000;
select count(v) from par_t where k = 77;
drop index par_k;
select count(v), sum(id) from par_t where k between -1000000 and 1000000;

-- parallel index, index-only and bitmap scans, joins
set max_parallel_workers_per_gather = 2;
explain (costs off) select count(v), sum(id) from par_t where k between 10 and 500;
select count(v), sum(id) from par_t where k between 10 and 500;
set enable_indexonlyscan = on;
select count(*), sum(k) from par_t where k between 10 and 500;
set enable_indexonlyscan = off; set enable_indexscan = off; set enable_bitmapscan = on;
select count(v), sum(id) from par_t where k between 10 and 500;
select count(v), sum(id) from par_t where k between 10 and 100 or id between 900 and 3000;
reset enable_indexscan; reset enable_seqscan;
set enable_nestloop = off; set enable_mergejoin = off;
select count(*), sum(a.id) from par_t a join par_t b on a.id = b.k;
set enable_hashjoin = off; reset enable_mergejoin;
select count(*), sum(a.id) from par_t a join par_t b on a.id = b.k;
reset enable_nestloop; reset enable_hashjoin;
-- more rows than one worker's chunk, written by CREATE TABLE AS from a parallel plan
create table par_as using zheap as select id, k from par_t where id % 2 = 1;
select count(*), sum(id) from par_as;
create materialized view par_mv using zheap as select k, count(*) as n, sum(id) as s from par_t group by k;
select count(*), sum(n), sum(s) from par_mv;
delete from par_t where id <= 20000;
refresh materialized view par_mv;
select count(*), sum(n), sum(s) from par_mv;
-- values out of line through the queue
create table par_toast (id int, body text) using zheap with (parallel_workers = 2);
alter table par_toast alter body set storage external;
insert into par_toast select g, repeat(md5(g::text), 100) from generate_series(1, 500) g;
select count(*) from (select id, body from par_toast where length(body) = 3200 offset 0) s where body = repeat(md5(id::text), 100);
vacuum (parallel 2) par_t;
select count(*), sum(id) from par_t;
reset all;
drop materialized view par_mv;
drop table par_t, par_as, par_toast;
drop function par_compare;
