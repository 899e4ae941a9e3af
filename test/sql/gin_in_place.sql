-- Updates of columns that GIN and bloom indexes have: in place, with the keys that the row lacks.  A heap table with the
-- same rows is the oracle.
set client_min_messages = warning;
create extension if not exists pg_trgm;
create extension if not exists btree_gin;
create extension if not exists hstore;
create extension if not exists bloom;
reset client_min_messages;
create table g(id int primary key, a int[], j jsonb, p jsonb, t text, n int, h hstore, b int, plain int) using zheap;
create table o(like g including indexes) using heap;
create index g_a on g using gin (a array_ops) with (fastupdate = off);
create index g_j on g using gin (j);
create index g_p on g using gin (p jsonb_path_ops);
create index g_t on g using gin (t gin_trgm_ops, n);
create index g_h on g using gin (h);
create index g_bloom on g using bloom (b);
create index g_plain on g(plain);
create index o_a on o using gin (a array_ops);
-- what both tables are asked
create table asked(cond text);
insert into asked values ('a @> ''{3}'''), ('a @> ''{1,4}'''), ('a && ''{2,7}'''), ('a <@ ''{1,2,3,4,5}'''), ('a = ''{1,2}'''),
	('a = ''{}'''), ('a @> ''{}'''), ('a is null'), ('a && array[5,null]'), ('j ? ''k1'''), ('j ?| ''{k2,k5}'''), ('j @> ''{"k3": 1}'''),
	('j ?& ''{k0,k4}'''), ('j @@ ''$.k1 == 1 || $.k2 == 2'''), ('j @@ ''!($.k1 == 1) && $.k2 == 2'''), ('p @> ''{"x": {"y": 3}}'''), ('p @? ''$.x.y ? (@ == 5)'''),
	('t like ''%abc%'''), ('t like ''%d1%'''), ('t ~ ''b.*[45]$'''), ('t % ''abcd1'''), ('n = 5'), ('n between 2 and 4'), ('n > 7 and t like ''%cd2%'''),
	('h ? ''e'''), ('h @> ''f=>2'''), ('b = 3'), ('b in (4, 6)'), ('a @> ''{3}'' and plain < 50'), ('a @> ''{3}'' or plain < 20'), ('j ? ''k1'' and a && ''{1,2}'' and b = 1');
-- the row i in its version v
create function version_of(i int, v int) returns table (a int[], j jsonb, p jsonb, t text, n int, h hstore, b int) language sql as $$
	select case when x % 23 = 0 then null when x % 11 = 0 then '{}' when x % 7 = 0 then array[x % 8, null] else array[x % 8, x % 5, x % 3] end,
		jsonb_build_object('k' || x % 6, x % 3, 'k' || x % 4, x % 2), jsonb_build_object('x', jsonb_build_object('y', x % 9)),
		'abc' || 'd' || x % 5 || repeat('b', x % 3) || x % 6, nullif(x % 10, 9), hstore(chr(97 + x % 7), (x % 3)::text), x % 8
	from (select (i * 7919 + v * 104729) % 10007 as x) s $$;
create procedure change(tab regclass, lo int, hi int, v int) language plpgsql as $$
begin
	execute format('update %s u set (a, j, p, t, n, h, b) = (select * from version_of(u.id, $3)) where id between $1 and $2', tab) using lo, hi, v;
end $$;
insert into g select i, x.*, i from generate_series(1, 150) i, version_of(i, 0) x;
-- keys of these rows stay in the pending lists; with fastupdate rows would move, as their changes are of many keys
alter index g_j set (fastupdate = off); alter index g_t set (fastupdate = off);
insert into o select * from g;
analyze g; analyze o;
-- conditions for which the index of zheap and a sequential scan of heap find different rows
create function differing() returns setof text language plpgsql as $$
declare c text; x int[]; y int[];
begin
	for c in select cond from asked loop
		set local enable_seqscan = on; set local enable_bitmapscan = off; set local enable_indexscan = off;
		execute 'select array_agg(id order by id) from o where ' || c into x;
		set local enable_seqscan = off; set local enable_bitmapscan = on;
		execute 'select array_agg(id order by id) from g where ' || c into y;
		if x is distinct from y then return next c || ': ' || coalesce(x::text, '') || ' ' || coalesce(y::text, ''); end if;
	end loop;
	set local enable_seqscan = on; set local enable_indexscan = on;
end $$;
select * from differing();
set enable_seqscan = off;
explain (costs off) select id from g where a @> '{3}';
explain (costs off) select id from g where b = 3;
explain (costs off) select id from g where t like '%abc%' and n = 5;
explain (costs off) select id from g where a @> '{3}' or plain < 20;
reset enable_seqscan;

-- many versions; some are rolled back, of some a part
create procedure rounds(first int, last int) language plpgsql as $$
begin
	for v in first..last loop
		-- rows that have moved may stay from now on
		if v % 3 <> 0 then
			perform gin_clean_pending_list(i::regclass) from unnest('{g_j,g_p,g_t,g_h}'::text[]) i;
		end if;
		call change('g', v % 50, 60 + v % 60, v);
		call change('o', v % 50, 60 + v % 60, v);
		if v % 4 = 0 then
			rollback;
		elsif v % 4 = 1 then
			begin
				call change('g', 1, 100, v + 1000);
				update g set plain = plain + 1;
				raise division_by_zero;
			exception when division_by_zero then null;
			end;
			commit;
		end if;
	end loop;
	commit;
end $$;
call rounds(1, 12);
select * from differing();
vacuum g;
select * from differing();
call rounds(13, 20);
select gin_clean_pending_list('g_j') >= 0 as cleaned;
select * from differing();

-- rows inserted by way of pending lists, and changed while they are there: a version's keys are not divided
alter index g_j set (fastupdate = on); alter index g_t set (fastupdate = on);
insert into g select i, x.*, i from generate_series(151, 200) i, version_of(i, 0) x;
alter index g_j set (fastupdate = off); alter index g_t set (fastupdate = off);
insert into o select i, x.*, i from generate_series(151, 200) i, version_of(i, 0) x;
update g set j = j || '{"k4": 1, "k0": 0}', t = t || 'cd2', n = 8 where id > 150;
update o set j = j || '{"k4": 1, "k0": 0}', t = t || 'cd2', n = 8 where id > 150;
select * from differing();
call rounds(21, 24);
update g set j = j || '{"k2": 2}' where id > 140; update o set j = j || '{"k2": 2}' where id > 140;
select * from differing();
select gin_clean_pending_list('g_j') >= 0 as cleaned, gin_clean_pending_list('g_t') >= 0 as cleaned;
select * from differing();

-- old snapshots: of cursors that are opened before the change
create function by_cursors(cond text, v int) returns bool language plpgsql as $$
declare z refcursor; h refcursor; i int; x int[] = '{}'; y int[] = '{}';
begin
	set local enable_seqscan = off;
	open z no scroll for execute 'select id from g where ' || cond;
	open h no scroll for execute 'select id from o where ' || cond;
	call change('g', 1, 200, v);
	call change('o', 1, 200, v);
	loop fetch z into i; exit when not found; x := x || i; end loop;
	loop fetch h into i; exit when not found; y := y || i; end loop;
	close z; close h;
	reset enable_seqscan;
	return (select array_agg(e order by e) from unnest(x) e) is not distinct from (select array_agg(e order by e) from unnest(y) e);
end $$;
select cond from (select cond, row_number() over () n from asked) s where not by_cursors(cond, 100 + n::int);
select * from differing();
begin;
savepoint s;
select count(*) from (select cond, row_number() over () n from asked) s where not by_cursors(cond, 200 + n::int);
rollback to s;
select * from differing();
commit;

-- rebuilt, in a transaction as well; deleted and used again
reindex table g;
select * from differing();
call rounds(25, 30);
begin;
call change('g', 1, 200, 300); call change('o', 1, 200, 300);
reindex index g_a;
reindex index g_bloom;
savepoint s;
call change('g', 1, 200, 301); call change('o', 1, 200, 301);
reindex index g_j;
rollback to s;
select * from differing();
commit;
select * from differing();
delete from g where id % 3 = 0; delete from o where id % 3 = 0;
select * from differing();
vacuum g;
alter index g_j set (fastupdate = on); alter index g_t set (fastupdate = on);
insert into g select i, x.*, i from generate_series(201, 300) i, version_of(i, 1) x;
alter index g_j set (fastupdate = off); alter index g_t set (fastupdate = off);
insert into o select i, x.*, i from generate_series(201, 300) i, version_of(i, 1) x;
select * from differing();
call rounds(31, 36);
select * from differing();
vacuum full g;
select * from differing();
cluster g using g_plain;
call rounds(37, 40);
select * from differing();
select * from zheap.zheap_verify('g');

-- one row, many times, with keys that come back
create table one(id int primary key, a int[], plain int) using zheap;
create index one_a on one using gin (a) with (fastupdate = off);
create index one_b on one using gin (a, plain);
insert into one select i, array[i], i from generate_series(1, 20) i;
alter index one_b set (fastupdate = off);
do $$ begin
	for v in 1..3000 loop
		update one set a = array[v % 13, v % 17 + 20], plain = v % 3 where id = 7;
		if v % 40 = 0 then commit; end if;
		if v % 40 = 20 then rollback; end if;
	end loop;
end $$;
set enable_seqscan = off;
select id, a from one where a @> array[3000 % 13];
select id, a from one where a @> array[3000 % 17 + 20];
select count(*) from one where a @> '{33}';
select count(*) from one where a && '{1,2,3,4,5,6}';
select count(*) from one where a && '{1,2,3,4,5,6}' and plain = 0;
reset enable_seqscan;

-- most updates stay in place, a sixteenth moves
create table s(id int primary key, a int[], j jsonb) using zheap with (fillfactor = 30);
create index s_a on s using gin (a) with (fastupdate = off);
create index s_j on s using gin (j jsonb_path_ops) with (fastupdate = off);
insert into s select i, array[i], '{}' from generate_series(1, 3000) i;
select zheap.zheap_stat_tables_reset('s'::regclass);
update s set a = array[id + 1];
update s set j = '{"a": 1}' where id <= 1000;
select pg_stat_force_next_flush();
select updated_in_place, updated_several_keys + moved_index as all, moved_index between 100 and 450 as some_moved
	from zheap.zheap_stat_tables where relname = 's';
-- the mark stays while there is such an index
create function marked() returns bigint language sql as $$
	select count(*) from generate_series(0, pg_relation_size('s') / current_setting('block_size')::int - 1) b, zheap.zheap_page_items('s', b) i
	where 'several_keys' = any (i.flags) $$;
vacuum (index_cleanup on) s;
select marked() > 2000 as marked;
set zheap.max_changed_indexes = 0;
select zheap.zheap_stat_tables_reset('s'::regclass);
update s set a = array[id + 2] where id <= 100;
reset zheap.max_changed_indexes;
select pg_stat_force_next_flush();
select updated_several_keys, moved_share > 50 as moved from zheap.zheap_stat_tables where relname = 's';
-- with a pending list: rows that are in it move; others stay if they get few keys
create table l(id int primary key, a int[]) using zheap with (fillfactor = 10, autovacuum_enabled = off);
create index l_a on l using gin (a);
insert into l select i, array[i] from generate_series(1, 400) i;
create procedure measure(change text) language plpgsql as $$
begin
	perform pg_stat_force_next_flush();
	perform zheap.zheap_stat_tables_reset('l'::regclass);
	execute change;
end $$;
create function ways() returns text language sql as $$
	select case when updated_several_keys > 350 then 'most stay' when updated_several_keys > 0 then 'some stay'
		when moved_budget = 400 then 'all move' else moved_budget::text end from zheap.zheap_stat_tables where relname = 'l' $$;
call measure('update l set a = a || 1000'); select pg_stat_force_next_flush(); select ways();
select gin_clean_pending_list('l_a') > 0 as cleaned;
call measure('update l set a = a || 1001'); select pg_stat_force_next_flush(); select ways();
select gin_clean_pending_list('l_a') >= 0 as cleaned;
call measure('update l set a = a || array(select generate_series(2001, 2020))'); select pg_stat_force_next_flush(); select ways();
set enable_seqscan = off;
select count(*) from l where a @> '{1000, 1001, 2001, 2020}';
select gin_clean_pending_list('l_a') >= 0 as cleaned;
select count(*) from l where a @> '{1000, 1001, 2001, 2020}';
-- a row that was moved, and back: its other place is in the list
begin;
savepoint s;
update l set a = '{1}' || array(select generate_series(3001, 3020));
rollback to s;
update l set a = a || 1002;
commit;
select count(*) from l where a @> '{1000, 1002, 2001}';
select count(*) from l where a @> '{3001}';
select gin_clean_pending_list('l_a') > 0 as cleaned;
select count(*) from l where a @> '{1000, 1002, 2001}';
-- other bytes, the same keys: nothing is inserted
call measure('update l set a = a || a'); select pg_stat_force_next_flush();
select updated_several_keys, moved_index from zheap.zheap_stat_tables where relname = 'l';
reset enable_seqscan;
select * from zheap.zheap_verify('l');

-- compressed and toasted values
update s set j = (select jsonb_object_agg('k' || i, md5((i + id)::text)) from generate_series(1, 200) i) where id <= 40;
update s set j = j || '{"k1": "x"}' where id <= 30;
update s set a = (select array_agg(i) from generate_series(1, 3000) i) where id <= 20;
update s set a = a || 3001 where id <= 10;
set enable_seqscan = off;
select count(*), sum(id) from s where j @> '{"k1": "x"}';
select count(*), sum(id) from s where a @> '{2999}';
select count(*), sum(id) from s where a @> '{2, 3001}';
select count(*), sum(id) from s where j @> jsonb_build_object('k1', md5('36'));
reset enable_seqscan;

-- a column that is not changed, added with a default after the rows were made
alter table s add column more int[] default '{5,6}';
create index s_more on s using gin (more) with (fastupdate = off);
update s set more = '{6,7}' where id between 11 and 40;
set enable_seqscan = off;
select count(*) from s where more @> '{5}';
select count(*) from s where more @> '{7}';
select count(*) from s where more @> '{6}';
reset enable_seqscan;

-- a version that lacks keys and has no new one; documents, too
create table f(id int primary key, a int[], j jsonb) using zheap;
insert into f select i, array[i % 3, i % 3 + 1], jsonb_build_object('k', i % 3, 'l', array[i % 5, 7]) from generate_series(1, 20) i;
create index on f using gin (a) with (fastupdate = off);
create index on f using gin (j) with (fastupdate = off);
update f set a = array[a[2]] where id in (4, 5);
update f set j = j - 'l' where id in (6, 7);
update f set a = '{}' where id = 8;
set enable_seqscan = off;
select id, a from f where a @> '{1}' and id < 10 order by id;
select id from f where j @> '{"l": [7]}' and id < 10 order by id;
reset enable_seqscan;
-- by chance a row moves
select count(*) from zheap.zheap_page_items('f', 0) where lp between 4 and 8 and not flags && '{several_keys,moved}';
drop table f;

-- operator classes by which a query can ask for the absence of a key move the row, as do expressions and predicates
create extension intarray;
create function moved(definition text, what text) returns bigint language plpgsql as $$
declare n bigint;
begin
	set local client_min_messages = warning;
	drop table if exists m;
	create table m(id int primary key, a int[], v tsvector, t text) using zheap with (fillfactor = 30);
	execute 'create index on m using gin ' || regexp_replace(definition, '( where .*)?$', ' with (fastupdate = off)\1');
	insert into m select i, array[i], 'a b', 'text' from generate_series(1, 25) i;
	execute 'update m set ' || what;
	select count(*) into n from m where ctid <> ('(0,' || id || ')')::tid;
	return n;
end $$;
select moved('(v)', 'v = ''a''');
select moved('(a gin__int_ops)', 'a = a || 1');
select moved('(a, v)', 'a = a || 1');
select moved('((a || 1))', 'a = a || 1');
select moved('(a) where id > 10', 'a = a || 1');
select moved('(a)', 'a = a || 1') < 13 as some;
select moved('(v)', 'a = a || 1');
select * from zheap.zheap_verify('s');
select marked() > 2000 as marked;
drop table g, o, asked, one, s, l, m;
drop function version_of, differing, by_cursors, moved, marked, ways;
drop procedure change, rounds, measure;
drop extension intarray, bloom, hstore, btree_gin, pg_trgm;
