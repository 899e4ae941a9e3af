-- Scans mark the entries of rows that are dead for good when they leave a leaf, with a pin on it or without: forward and backward, again with another key, back at a mark, ended in the middle.
-- Entries that name rows which are there stay as they are, though dead ones have the same TID.
create extension if not exists pageinspect;
create table mk_logged (id int primary key, n int, v text) using zheap with (autovacuum_enabled = off);
create unlogged table mk_unlogged (id int primary key, n int, v text) using zheap with (autovacuum_enabled = off);
create index mk_logged_n on mk_logged (n);
create index mk_unlogged_n on mk_unlogged (n);
create table mk_outer (n int) using zheap;
insert into mk_outer select g % 40 from generate_series(1, 80) g;
analyze mk_outer;
-- how many entries are marked as dead
create function mk_marked(index regclass) returns bigint language sql as $$
	select count(*) filter (where i.dead)
	from generate_series(1, pg_relation_size(index) / 8192 - 1) block, bt_page_stats(index::text, block::int) s, bt_page_items(index::text, block::int) i
	where s.type = 'l' $$;
-- each row has had 3 values of n, the last of which is that of the first entry of many: then one scan, repeated until no older snapshot is left; the server computes horizons again only after new transactions
create procedure mk_scan(what text, query text) language plpgsql as $$
declare
	t text;
	answer text;
	expected text;
begin
	foreach t in array array['mk_logged', 'mk_unlogged'] loop
		execute format('truncate %s', t);
		execute format('insert into %s select g, g %% 40, repeat(''v'', 20) from generate_series(1, 1200) g', t);
		commit;
		execute format('update %s set n = n + 1000', t);
		commit;
		execute format('update %s set n = n - 1000 where id %% 4 = 0', t);
		execute format('update %s set n = n %% 20 where id %% 4 = 1', t);
		execute format('delete from %s where id %% 4 = 2 or id %% 8 = 1', t);
		commit;
		set local enable_indexscan = off;
		set local enable_indexonlyscan = off;
		set local enable_seqscan = on;
		execute replace(query, 'mk_t', t) into expected;
		commit;
		for i in 1..2000 loop
			execute replace(query, 'mk_t', t) into answer;
			if answer <> expected then
				raise exception '%, %: % for %', what, t, answer, expected;
			end if;
			commit;
			perform pg_current_xact_id();
			commit;
			exit when mk_marked((t || '_n')::regclass) > 0;
			perform pg_sleep(0.01);
		end loop;
		raise notice '% of %: entries are marked %', what, t, mk_marked((t || '_n')::regclass) > 0;
		execute replace(query, 'mk_t', t) into answer;
		if answer <> expected then
			raise exception '%, %, with marks: % for %', what, t, answer, expected;
		end if;
		commit;
	end loop;
end $$;
-- what was walked over beside an older snapshot would be skipped, not marked
set zheap.skip_dead_entries = off;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
set enable_material = off;
set enable_hashjoin = off;
set enable_memoize = off;
set max_parallel_workers_per_gather = 0;
call mk_scan('forward', 'select string_agg(n || ''-'' || id, '' '' order by n, id) || count(v) from mk_t where n >= 0');
call mk_scan('index only', 'select count(n) || '' '' || sum(n) from mk_t where n >= 0');
call mk_scan('backward', 'select string_agg(n::text, '' '') || count(v) from (select n, v from mk_t where n >= 0 order by n desc limit 600) s');
call mk_scan('ended', 'select string_agg(n::text, '' '') || count(v) from (select n, v from mk_t where n >= 0 order by n limit 200) s');
set enable_mergejoin = off;
call mk_scan('again', 'select count(v) || '' '' || sum(mk_t.n) from mk_outer o join mk_t on mk_t.n = o.n');
set enable_mergejoin = on;
set enable_nestloop = off;
call mk_scan('mark', 'select count(v) || '' '' || sum(mk_t.n) from (select n from mk_outer order by n) o join mk_t on mk_t.n = o.n');
reset enable_nestloop;
-- a cursor that turns round, and is closed on a leaf
begin;
declare c scroll cursor for select n, v from mk_logged where n >= 0 order by n;
move forward 100 in c;
move backward 50 in c;
fetch 2 from c;
close c;
commit;
select t, count(f) as findings from unnest(array['mk_logged', 'mk_unlogged']) t left join lateral zheap.zheap_verify(t::regclass) f on true group by t order by t;
drop table mk_logged, mk_unlogged, mk_outer;
drop procedure mk_scan;
drop function mk_marked;
drop extension pageinspect;
