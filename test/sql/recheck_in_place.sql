-- Updates of columns of hash, GiST and SP-GiST indexes leave the row in place, but for one in sixteen, by chance.
-- The answers are compared with heap's.
\set ECHO none
\pset pager off
set client_min_messages = warning;
-- run a statement on both tables: "pt" in it stands for one of them
create function twice(statement text) returns void language plpgsql as $$
begin
	execute regexp_replace(statement, '\mpt\M', 'pt_heap', 'g');
	execute regexp_replace(statement, '\mpt\M', 'pt_zheap', 'g');
end $$;
-- the rows of a query on a table, found in the way that is asked for; "ordered": their order counts
create function rows_of(query text, way text, ordered bool) returns text[] language plpgsql as $$
declare r record; got text[] = '{}';
begin
	perform set_config('enable_seqscan', case way when 'seq' then 'on' else 'off' end, true),
		set_config('enable_bitmapscan', case way when 'bitmap' then 'on' else 'off' end, true),
		set_config('enable_indexscan', case when way in ('index', 'only') then 'on' else 'off' end, true),
		set_config('enable_indexonlyscan', case way when 'only' then 'on' else 'off' end, true),
		set_config('enable_sort', case way when 'seq' then 'on' else 'off' end, true);
	for r in execute query loop got = got || r::text; end loop;
	return case when ordered then got else array(select unnest(got) order by 1) end;
end $$;
create function compare(what text) returns setof text language plpgsql as $$
declare q text; way text; h text[]; z text[]; n int = 0;
begin
	foreach q in array array[
		'select id from pt where h = 7', 'select id from pt where h = 1007', 'select id from pt where h = -7', 'select id from pt where h = 7777',
		'select id, n from pt where n = 3.0', 'select id from pt where t = ''t3''', 'select id from pt where t = ''t1003''',
		'select t from pt where t ^@ ''t1''', 'select count(*) from pt where t >= ''t''', 'select t from pt where t < ''t2''',
		'select id, p from pt where p <@ box ''(0,0),(20,20)''', 'select p from pt where p <@ box ''(0,0),(20,20)''',
		'select p from pt where p <@ box ''(1000,1000),(1030,1030)''', 'select count(*) from pt where p <@ box ''(-5000,-5000),(5000,5000)''',
		'select s from pt where s <@ box ''(10,10),(40,40)''', 'select count(*) from pt where s <@ box ''(-5000,-5000),(5000,5000)''',
		'select b from pt where b && box ''(3,3),(9,9)''', 'select id from pt where b && box ''(1003,1003),(1009,1009)''',
		'select r from pt where r @> 5', 'select r from pt where r && int4range(1003, 1010)', 'select count(*) from pt where r << int4range(2000, 3000)',
		'select sr from pt where sr @> 5', 'select id, sr from pt where sr && int4range(1003, 1010)',
		'select i from pt where i <<= inet ''10.0.0.0/28''', 'select i from pt where i <<= inet ''10.1.0.0/16''',
		'select id from pt where p is null', 'select count(*) from pt where c && circle ''((0,0),5000)''',
		'select id, c from pt where c && circle ''((1005,1005),3)''',
		'select p, k from pt where p <@ box ''(0,0),(20,20)'' and k = 1'] loop
		h = rows_of(regexp_replace(q, '\mpt\M', 'pt_heap', 'g'), 'seq', false);
		foreach way in array array['seq', 'index', 'only', 'bitmap'] loop
			z = rows_of(regexp_replace(q, '\mpt\M', 'pt_zheap', 'g'), way, false);
			n = n + 1;
			if z is distinct from h then
				return next format('%s: %s by %s: %s, not %s', what, q, way, z, h);
			end if;
		end loop;
	end loop;
	foreach q in array array[
		'select id, p from pt order by p <-> point ''(3.1,4.3)'', id limit 7', 'select round((p <-> point ''(3.1,4.3)'')::numeric, 6) from pt order by p <-> point ''(3.1,4.3)'' limit 30',
		'select round((p <-> point ''(1003.1,1004.3)'')::numeric, 6) from pt where p is not null order by p <-> point ''(1003.1,1004.3)''',
		'select round((s <-> point ''(3.1,4.3)'')::numeric, 6) from pt order by s <-> point ''(3.1,4.3)'' limit 9',
		'select round((s <-> point ''(1003.1,1004.3)'')::numeric, 6) from pt where s is not null order by s <-> point ''(1003.1,1004.3)''',
		'select round((c <-> point ''(1003.1,1004.3)'')::numeric, 6) from pt where c is not null order by c <-> point ''(1003.1,1004.3)''',
		'select round((c <-> point ''(3.1,4.3)'')::numeric, 6) from pt order by c <-> point ''(3.1,4.3)'' limit 5',
		'select round((b <-> point ''(-300.37,-200.11)'')::numeric, 6) from pt order by b <-> point ''(-300.37,-200.11)'' limit 60',
		'select round((p <-> point ''(3.1,4.3)'')::numeric, 6), round((s <-> point ''(9.1,4.3)'')::numeric, 6) from pt order by p <-> point ''(3.1,4.3)'' limit 150'] loop
		h = rows_of(regexp_replace(q, '\mpt\M', 'pt_heap', 'g'), 'seq', true);
		foreach way in array array['seq', 'index', 'only'] loop
			z = rows_of(regexp_replace(q, '\mpt\M', 'pt_zheap', 'g'), way, true);
			n = n + 1;
			if z is distinct from h then
				return next format('%s: %s by %s: %s, not %s', what, q, way, z, h);
			end if;
		end loop;
	end loop;
	return next format('%s: %s queries', what, n);
end $$;
reset client_min_messages;
\set ECHO all
select twice('create table pt(id int primary key, h int, n numeric, t text, p point, s point, b box, r int4range, sr int4range, i inet, c circle, k int, f text)');
drop table pt_zheap;
create table pt_zheap (like pt_heap including all) using zheap;
select twice('create index on pt using hash (h)'), twice('create index on pt using hash (n)'), twice('create index on pt using spgist (t)'),
	twice('create index on pt using gist (p) include (k)'), twice('create index on pt using spgist (s)'), twice('create index on pt using gist (b)'),
	twice('create index on pt using gist (r)'), twice('create index on pt using spgist (sr)'),
	twice('create index on pt using gist (i inet_ops)'), twice('create index on pt using gist (c)'), twice('create index on pt (k)');
select twice($$insert into pt select x, x % 50, x % 7, 't' || x % 60, point(x * 0.7, x * 0.9), point(x * 0.3, x * 1.1), box(point(x, x), point(x + 2, x + 1)),
	int4range(x, x + 4), int4range(x, x + 3), ('10.0.0.' || x)::inet, circle(point(x, x), 1), x % 3, 'f' from generate_series(1, 200) x$$);
analyze pt_heap; vacuum analyze pt_zheap;
select compare('as inserted');
-- a row stays where it is, or moves by chance
select zheap.zheap_stat_tables_reset('pt_zheap'::regclass);
select twice('update pt set h = h + 1000 where id <= 150');
select twice('update pt set p = point(p[0] + 1000, p[1] + 1000) where id <= 150');
select twice('update pt set s = point(s[0] + 1000, s[1] + 1000) where id <= 150');
select compare('changed');
select pg_stat_force_next_flush();
select updated_several_keys + moved_index + moved_room as updated, updated_several_keys > 200 as in_place, moved_index between 1 and 200 as by_chance
	from zheap.zheap_stat_tables where relname = 'pt_zheap';
select twice('update pt set t = replace(t, ''t'', ''t10''), b = box(point(id + 1000, id + 1000), point(id + 1002, id + 1001)) where id % 2 = 0');
select twice('update pt set r = int4range(id + 1000, id + 1004), sr = int4range(id + 1000, id + 1003), c = circle(point(id + 1000, id + 1000), 1) where id % 3 = 0');
select twice('update pt set i = replace(host(i), ''10.0.'', ''10.1.'')::inet where id % 3 = 0');
select twice('update pt set n = (n || ''.00'')::numeric where id % 2 = 0'), twice('update pt set k = k + 1 where id % 5 = 0');
select compare('all changed');
select twice('update pt set p = null, s = null, t = null, h = null, c = null where id % 10 = 0');
select compare('nulls');
select twice('update pt set p = point(id, id * 1.01), s = point(id * 1.01, id), t = ''t3'', h = 7, c = circle(point(id, id), 2) where id % 20 = 0');
select compare('values again');
-- rolled back, wholly and in part
begin;
select twice('update pt set h = 7, p = point(id * 0.01, id * 0.013), s = point(id * 0.01, id * 0.013), t = ''t1'' || id, r = int4range(5, 6), sr = int4range(5, 6)');
select twice('update pt set i = ''10.1.0.1'', b = box(point(4,4), point(5,5)), c = circle(point(0,0), id)');
select compare('to be rolled back');
rollback;
select compare('rolled back');
begin;
savepoint a;
select twice('update pt set h = -7, p = point(-id, -id), s = point(id * 0.2, 2), b = box(point(id * 0.1, id * 0.1), point(4,4)) where id < 80');
savepoint b;
select twice('update pt set h = 7777, p = point(id, -id), t = ''x'' || id where id < 60');
select compare('in a savepoint');
rollback to b;
select compare('to the savepoint');
select twice('update pt set r = int4range(id - 3, id + 5), sr = int4range(id, id + 9) where id < 40');
commit;
select compare('savepoints');
-- there and back many times: entries of old keys remain, and the row comes once
do $$ begin
	for n in 1..1000 loop
		perform twice('update pt set h = 8 - h, p = point(1 - p[0], p[1]), s = point(s[0], 2 - s[1]), t = case t when ''t3'' then ''t4'' else ''t3'' end,
			b = box(point(n2, n2), point(4, 4)), r = int4range(5, 6 + n2), k = 1 from generate_series(5, 5) x(n2) where id between 1 and 3') where n % 10 = 0;
		update pt_zheap set h = 8 - h, p = point(1 - p[0], p[1]), s = point(s[0], 2 - s[1]) where id between 5 and 6;
		update pt_zheap set t = case t when 't3' then 't4' else 't3' end, r = int4range(7 - lower(r), 90) where id between 5 and 6;
	end loop;
	update pt_heap a set h = b.h, p = b.p, s = b.s, t = b.t, r = b.r from pt_zheap b where a.id between 5 and 6 and b.id = a.id;
end $$;
select compare('there and back');
-- an update finds its rows by the index that it changes, and each once
create table halloween(id int primary key, p point, r int4range, h int) using zheap;
create index on halloween using gist (p); create index on halloween using spgist (r); create index on halloween using hash (h);
insert into halloween select x, point(x, x), int4range(x, x + 1), 1 from generate_series(1, 1000) x;
analyze halloween;
set enable_seqscan = off; set enable_bitmapscan = off;
explain (costs off) update halloween set p = point(p[0] + 1, p[1] + 1) where p <@ box '(0,0),(5000,5000)';
update halloween set p = point(p[0] + 1, p[1] + 1) where p <@ box '(0,0),(5000,5000)';
update halloween set r = int4range(lower(r) + 1, lower(r) + 2) where r && int4range(0, 5000);
update halloween set h = h + 1 where h = 1;
select count(*), sum(p[0] - id), sum(lower(r) - id), sum(h) from halloween;
-- cursors: what they see stays; a hash index's goes back
begin;
declare by_hash scroll cursor for select id from halloween where h = 2;
declare by_gist cursor for select id from halloween where p <@ box '(100.5,100.5),(110.5,110.5)';
declare by_distance cursor for select id, p from halloween order by p <-> point '(500.2,500.2)' limit 6;
declare by_values cursor for select p from halloween where p <@ box '(200.5,200.5),(204.5,204.5)';
declare by_range cursor for select id from halloween where r && int4range(300, 310);
create temp table got(cursor text, got text);
create function pg_temp.take(cursor refcursor, direction text, n int) returns bigint language plpgsql as $$
declare r record; taken int = 0; begin
	while taken < n loop
		if direction = 'next' then fetch cursor into r; else fetch prior from cursor into r; end if;
		exit when not found;
		insert into got values (cursor, r::text);
		taken = taken + 1;
	end loop;
	return taken;
end $$;
select pg_temp.take('by_hash', 'next', 3), pg_temp.take('by_gist', 'next', 2), pg_temp.take('by_distance', 'next', 2),
	pg_temp.take('by_values', 'next', 1), pg_temp.take('by_range', 'next', 2);
update halloween set h = 3, p = point(p[0] + 1, p[1] + 1), r = int4range(lower(r) + 1, lower(r) + 2);
update halloween set h = 2;
update halloween set p = point(p[0] - 1, p[1] - 1) where id % 2 = 0;
select pg_temp.take('by_hash', 'next', 5000), pg_temp.take('by_gist', 'next', 5000), pg_temp.take('by_distance', 'next', 5000),
	pg_temp.take('by_values', 'next', 5000), pg_temp.take('by_range', 'next', 5000);
select pg_temp.take('by_hash', 'prior', 5000);
select cursor, count(*), count(distinct got) from got group by 1 order by 1;
select string_agg(got, ' ' order by got) from got where cursor = 'by_gist';
select string_agg(got, ' ') from got where cursor = 'by_distance';
select string_agg(got, ' ' order by got) from got where cursor = 'by_values';
select string_agg(got, ' ' order by got) from got where cursor = 'by_range';
commit;
select count(*) from halloween where h = 2;
select count(*) from halloween where p <@ box '(0,0),(5000,5000)';
select id, p from halloween order by p <-> point '(500.2,500.2)', id limit 3;
-- rows get the mark after a scan has returned them, also from pages that are all-visible
create table seen(id int primary key, p point, r int4range) using zheap;
create index on seen using gist (p); create index on seen using spgist (r);
insert into seen select x, point(x, x), int4range(x, x + 1) from generate_series(1, 1000) x;
vacuum analyze seen;
begin;
declare by_values cursor for select p from seen where p <@ box '(0,0),(5000,5000)';
declare by_distance cursor for select p from seen order by p <-> point '(0,0)';
declare by_range cursor for select r from seen where r && int4range(0, 5000);
declare by_gist cursor for select id, p from seen where p <@ box '(0,0),(5000,5000)';
explain (costs off) select p from seen order by p <-> point '(0,0)';
explain (costs off) select r from seen where r && int4range(0, 5000);
truncate got;
select pg_temp.take('by_values', 'next', 500), pg_temp.take('by_distance', 'next', 500), pg_temp.take('by_range', 'next', 500), pg_temp.take('by_gist', 'next', 500);
update seen set p = point(2000 + id, 2000), r = int4range(id + 2000, id + 2001);
update seen set p = point(id, id), r = int4range(id, id + 1);
update seen set p = point(1000 - id, 1000), r = int4range(1000 - id, 1000 - id + 1);
select pg_temp.take('by_values', 'next', 5000), pg_temp.take('by_distance', 'next', 5000), pg_temp.take('by_range', 'next', 5000), pg_temp.take('by_gist', 'next', 5000);
select cursor, count(*), count(distinct got) from got group by 1 order by 1;
commit;
select count(*), count(distinct p[0]), sum(p[0]) from seen where p <@ box '(0,0),(5000,5000)';
select * from zheap.zheap_verify('seen');
drop table seen;
-- a join scans the index for each outer row
set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off;
select count(*), count(distinct x.id) from generate_series(1, 50) g, halloween x where x.p <@ box(point(g * 10, g * 10), point(g * 10 + 5, g * 10 + 5));
reset enable_hashjoin; reset enable_mergejoin; reset enable_material;
-- clustered and rebuilt
cluster halloween using halloween_p_idx;
select count(*), count(distinct id) from halloween;
select count(*) from halloween where p <@ box '(0,0),(5000,5000)';
reindex table halloween;
select count(*) from halloween where p <@ box '(0,0),(5000,5000)';
select count(*) from halloween where h = 2;
reset enable_seqscan; reset enable_bitmapscan;
-- the queries are answered in the ways that were asked for
create function way_of(query text, way text) returns text language plpgsql as $$
declare line text; node text; begin
	perform rows_of('select 1', way, true);
	for line in execute 'explain (costs off) ' || query loop node = coalesce(node, substring(line from '(Seq|Index|Index Only|Bitmap Heap) Scan')); end loop;
	return node;
end $$;
select way, way_of('select p from pt_zheap where p <@ box ''(0,0),(20,20)''', way), way_of('select p from pt_zheap order by p <-> point ''(3.1,4.3)''', way),
	way_of('select t from pt_zheap where t ^@ ''t1''', way), way_of('select id from pt_zheap where h = 7', way)
	from unnest(array['seq', 'index', 'only', 'bitmap']) way;
drop function way_of;
reindex table pt_zheap;
select compare('rebuilt');
vacuum pt_zheap;
select compare('vacuumed');
vacuum pt_zheap;
select twice('delete from pt where id % 4 = 0');
select compare('deleted');
vacuum pt_zheap;
select twice($$insert into pt select x, x % 50, x % 7, 't' || x % 60, point(x * 0.73, x * 0.91), point(x * 0.33, x * 1.12), box(point(x, x), point(x + 2, x + 1)),
	int4range(x, x + 4), int4range(x, x + 3), ('10.0.0.' || x)::inet, circle(point(x, x), 1.5), x % 3, 'f' from generate_series(4, 200, 4) x$$);
select compare('reused');
cluster pt_zheap using pt_zheap_p_k_idx;
select compare('clustered');
select twice('update pt set p = point(p[1], p[0]), h = 7 - h where id % 2 = 0');
cluster pt_zheap;
select compare('clustered');
select * from zheap.zheap_verify('pt_zheap');
select * from zheap.zheap_verify('halloween');
-- in the order of distances, rows can be locked, and have their system columns
begin;
set enable_seqscan = off; set enable_sort = off;
select h from pt_zheap order by p <-> point '(3.1,4.3)' limit 2 for update;
select count(xmin), count(distinct ctid) from (select xmin, ctid from pt_zheap where p is not null order by p <-> point '(3.1,4.3)' limit 50) x;
select count(xmin), count(distinct ctid) from (select xmin, ctid from pt_zheap where s is not null order by s <-> point '(3.1,4.3)' limit 50) x;
commit;
reset enable_seqscan; reset enable_sort;
-- what moves the row still: an exclusion constraint, an expression, a predicate, distances of boxes
create table m(id int primary key, r int4range, p point, h int, b box, exclude using gist (r with &&)) using zheap;
create index on m using gist (p) where h > 0;
create index on m using hash ((h + 1));
create index on m using gist (b);
insert into m select x, int4range(x, x + 1), point(x, x), x, box(point(x, x), point(0, 0)) from generate_series(1, 50) x;
update m set r = int4range(lower(r) + 100, lower(r) + 101);
update m set p = point(0, 0);
update m set h = h + 1;
update m set b = box(point(0, x), point(1, 1)) from generate_series(7, 7) x;
select pg_stat_force_next_flush();
select updated_several_keys, moved_index from zheap.zheap_stat_tables where relname = 'm';
-- long values
create table l(id int primary key, t text) using zheap;
alter table l alter t set storage external;
create index on l using hash (t);
insert into l select x, repeat('long' || x, 2000) from generate_series(1, 5) x;
update l set t = t || 'er';
update l set t = left(t, -2);
update l set t = t where id < 3;
set enable_seqscan = off;
select id from l where t = repeat('long3', 2000);
select id from l where t = repeat('long3', 2000) || 'er';
reset enable_seqscan;
select * from zheap.zheap_verify('l');
drop table pt_heap, pt_zheap, halloween, m, l, got;
drop function twice, compare, rows_of;
