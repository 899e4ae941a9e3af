-- VACUUM in all its spellings changes no result, with rows in every state and with old readers.
-- Contents are compared before and after each run.
create table vac_t (id int primary key, k int, body text) using zheap;
create index vac_k on vac_t (k);
create index vac_gin on vac_t using gin ((array[k]));
insert into vac_t select g, g % 100, repeat('v', 50) from generate_series(1, 5000) g;
create function vac_state() returns table (rows bigint, ids bigint, ks bigint, digest text) language sql as
	'select count(*), sum(id), sum(k), md5(string_agg(t::text, '','' order by id)) from vac_t t';
select rows, ids, ks from vac_state();
create temp table vac_before as select * from vac_state();
vacuum vac_t;
select v is distinct from b as changed from vac_state() v, vac_before b;
delete from vac_t where id % 2 = 0;
update vac_t set k = k + 1 where id % 5 = 0;
begin; delete from vac_t where id < 2000; update vac_t set body = 'x'; rollback;
begin; insert into vac_t select g, 1, 'rolled back' from generate_series(10001, 11000) g; rollback;
truncate vac_before; insert into vac_before select * from vac_state();
vacuum vac_t;
select v is distinct from b as changed from vac_state() v, vac_before b;
vacuum (freeze) vac_t;
vacuum (analyze) vac_t;
vacuum (disable_page_skipping) vac_t;
vacuum (index_cleanup off) vac_t;
vacuum (index_cleanup on, truncate off) vac_t;
vacuum (skip_locked, process_toast off) vac_t;
select v is distinct from b as changed from vac_state() v, vac_before b;
select rows, ids, ks from vac_state();
set enable_seqscan = off;
select count(body) from vac_t where k between 0 and 200;
select count(body) from vac_t where id between 1 and 100000;
select count(body) from vac_t where array[k] && '{1, 2, 3}';
reset enable_seqscan;
-- index-only scans after vacuum, and after changes to pages that it marked
create table vac_io (id int primary key, k int, body text) using zheap;
create index vac_io_k on vac_io (k);
insert into vac_io select g, g % 10, 'x' from generate_series(1, 2000) g;
vacuum analyze vac_io;
set enable_seqscan = off; set enable_bitmapscan = off;
explain (costs off) select count(*) from vac_io where k = 3;
select count(*) from vac_io where k = 3;
delete from vac_io where id = 3;
select count(*) from vac_io where k = 3;
update vac_io set k = 3 where id = 4;
update vac_io set body = 'y' where k = 3;
select count(*) from vac_io where k = 3;
begin;
delete from vac_io where k = 3;
select count(*) from vac_io where k = 3;
rollback;
select count(*) from vac_io where k = 3;
begin;
insert into vac_io values (3001, 3, 'rolled back');
update vac_io set k = 3 where id between 100 and 199;
select count(*) from vac_io where k = 3;
rollback;
select count(*) from vac_io where k = 3;
vacuum vac_io;
select count(*) from vac_io where k = 3;
begin;
declare c cursor for select count(*) from vac_io where k = 3;
delete from vac_io where k = 3;
fetch c;
commit;
select count(*) from vac_io where k = 3;
select count(*), min(id), max(id) from vac_io where id > 0;
reset all;
-- everything goes, and the table starts anew
delete from vac_io;
vacuum vac_io;
select count(*) from vac_io;
insert into vac_io select g, g, 'again' from generate_series(1, 100) g;
select count(*), sum(k) from vac_io;
-- not inside a transaction, as ever; an empty table; all tables
begin; vacuum vac_io; rollback;
create table vac_empty (a int) using zheap;
vacuum vac_empty;
vacuum (verbose off) vac_empty, vac_t;
-- a storm of small vacuums between changes
do $$
begin
	for i in 1..300 loop
		insert into vac_empty values (i);
		if i % 3 = 0 then delete from vac_empty where a = i - 1; end if;
	end loop;
end $$;
vacuum vac_empty;
delete from vac_empty where a % 2 = 0;
vacuum vac_empty;
insert into vac_empty select g from generate_series(1000, 1200) g;
vacuum vac_empty;
select count(*), sum(a) from vac_empty;
drop table vac_t, vac_io, vac_empty, vac_before;
drop function vac_state;

-- workers that begin while the leader summarizes
set max_parallel_maintenance_workers = 2;
set min_parallel_index_scan_size = '64kB';
create table vac_p (a int, b int, c int) using zheap with (autovacuum_enabled = off);
create index on vac_p (a);
create index on vac_p (b);
create index vac_p_c on vac_p using brin (c) with (autosummarize = off, pages_per_range = 4);
insert into vac_p select i, i, i from generate_series(1, 20000) i;
vacuum (parallel 2, index_cleanup on) vac_p;
set enable_seqscan = off;
select count(*) from vac_p where c between 5000 and 5100;
reset enable_seqscan;
reset min_parallel_index_scan_size;
reset max_parallel_maintenance_workers;
drop table vac_p;
