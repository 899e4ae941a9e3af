-- What is new in 19, on heap and zheap alike: REPACK, and EXPLAIN with IO.  REPACK with CONCURRENTLY is the server's for heap only.
\getenv testdir PG_ABS_SRCDIR
\set alike :testdir '/include/alike.sql'
\i :alike

select alike('create table k (id int primary key, n int, t text)');
select alike('create index k_n on k (n)');
select alike($$insert into k select g, -g % 37, repeat('k', 100) from generate_series(1, 1000) g$$);
select alike('delete from k where id % 3 = 0');
select alike($$update k set n = n - 1, t = repeat('K', 500) where id % 5 = 0$$);
select alike('update k set n = n + 40 where id % 7 = 0');
select alike('repack k');
select alike('select count(*), sum(id), sum(n), sum(length(t)) from k');
select alike('repack k using index k_n');
select alike('select min(n), max(n), count(*) from (select n, lag(n) over (order by ctid) as before from k) l where before > n');
select alike('select count(*), sum(id), sum(n), sum(length(t)) from k');
select alike('update k set n = n + 1 where id < 20 returning old.n, new.n');
select alike('repack k using index');
select alike('select count(*), sum(id), sum(n), sum(length(t)) from k');
repack (analyze, verbose off) in_zheap.k;
repack (concurrently) in_zheap.k;
repack (concurrently) in_zheap.k using index k_n;
-- with rows that a snapshot still sees, and changes of its own transaction
begin;
select alike('update k set n = 0 where id = 1 returning old.n');
select alike('delete from k where id = 2');
select alike('repack k');
select alike('select id, n from k where id < 5 order by id');
rollback;
select alike('select id, n from k where id < 5 order by id');
select alike('select count(*), sum(id), sum(n), sum(length(t)) from k');

-- which lines EXPLAIN (ANALYZE, IO) adds for each kind of scan
create function io_lines(query text) returns setof text language plpgsql as $$
declare line text;
begin
	for line in execute 'explain (analyze, io, costs off, buffers off, timing off, summary off) ' || query loop
		line = (regexp_match(line, '^\W*(Seq Scan|Bitmap Heap Scan|Tid Range Scan|Prefetch)'))[1];
		if line is not null then return next line; end if;
	end loop;
end $$;
select alike($$select * from io_lines('select sum(id) from k where ctid is not null')$$);
set enable_seqscan = off;
set enable_indexscan = off;
select alike($$select * from io_lines('select count(*) from k where n < 0')$$);
select alike($$select * from io_lines($q$select count(*) from k where ctid > '(0,0)' and ctid < '(5,0)'$q$)$$);
reset enable_seqscan;
reset enable_indexscan;

select count(*) as findings from zheap.zheap_verify('in_zheap.k');
select nspname, amname from pg_class c join pg_namespace n on n.oid = relnamespace join pg_am a on a.oid = relam
 where nspname ~ '^in_' and relkind = 'r' group by 1, 2 order by 1, 2;
