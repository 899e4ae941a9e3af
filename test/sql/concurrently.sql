-- CREATE INDEX CONCURRENTLY and its relatives index every row, none twice, and reject duplicates.
-- One session; each index's answers are compared with a scan's.
create table cic_t (id int, k int, v text) using zheap;
insert into cic_t select g, g % 50, 'v' || g from generate_series(1, 3000) g;
delete from cic_t where id % 13 = 0;
update cic_t set k = k + 100 where id % 17 = 0;
begin; insert into cic_t select g, 1, 'x' from generate_series(4001, 4500) g; update cic_t set k = 7; rollback;
create index concurrently cic_k on cic_t (k);
create unique index concurrently cic_id on cic_t (id);
create index concurrently cic_e on cic_t (lower(v)) where k < 25;
select indexrelid::regclass, indisvalid, indisready from pg_index where indrelid = 'cic_t'::regclass order by 1;
create function cic_compare() returns table (scan bigint, by_k bigint, by_id bigint, by_e bigint, e_scan bigint) language plpgsql as $$
begin
	set local enable_indexscan = off; set local enable_bitmapscan = off; set local enable_indexonlyscan = off;
	select count(v), count(v) filter (where lower(v) like 'v%' and k < 25) from cic_t into scan, e_scan;
	set local enable_indexscan = on; set local enable_seqscan = off;
	select count(v) from cic_t where k between -1000 and 1000 into by_k;
	select count(v) from cic_t where id between -100000 and 100000 into by_id;
	select count(v) from cic_t where lower(v) >= 'v' and lower(v) < 'w' and k < 25 into by_e;
	set local enable_seqscan = on; set local enable_bitmapscan = on;
	return next;
end $$;
select * from cic_compare();
update cic_t set k = k + 1, v = upper(v) where id % 3 = 0;
update cic_t set v = v || '' where id % 5 = 0;
insert into cic_t select g, g % 50, 'v' || g from generate_series(5001, 5200) g;
select * from cic_compare();
reindex index concurrently cic_k;
reindex table concurrently cic_t;
select * from cic_compare();
select count(*) from pg_index where indrelid = 'cic_t'::regclass;
drop index concurrently cic_k;
-- duplicates
insert into cic_t (id, k) select id, 0 from cic_t where id = 1;
insert into cic_t (id, k) values (-1, 0), (-2, 0);
\set VERBOSITY terse
create unique index concurrently cic_u on cic_t ((k * 0));
\set VERBOSITY default
select indisvalid, indisready from pg_index where indexrelid = 'cic_u'::regclass;
drop index cic_u;
drop table cic_t;
drop function cic_compare;
