-- Every index access method, built before and after the data, stays true through updates, deletes and rollbacks.
-- Each answer through an index is compared with a sequential scan's of the same rows.
create function idx_box(x float8, y float8) returns box language sql immutable as 'select box(point(x, y), point(x + 1, y + 1))';
create table idx_t (id int, k int, t text, p point, b box, arr int[], r int4range, ts tsvector, ip inet) using zheap;
create table idx_checks (what text, cond text);
insert into idx_checks values
	('btree', 'k between 100 and 120'), ('btree eq', 'k = 77'), ('btree text', 't = ''t33'''), ('btree like', 't like ''t9%'''),
	('btree or', 'k in (1, 50, 99) or k is null'), ('hash', 'id = 500'), ('hash text', 't = ''t500'''),
	('gin array', 'arr @> ''{7}'''), ('gin array 2', 'arr && ''{3, 300}'''), ('gin text', 'ts @@ ''word5 & even'''),
	('gist box', 'b && ''((10,10),(20,20))''::box'), ('gist range', 'r @> 55'), ('gist range 2', 'r && ''[10,12]'''),
	('gist point', 'p <@ ''((0,0),(15,15))''::box'), ('spgist point', 'p ~= ''(30,30)'''), ('spgist text', 't ^@ ''t12'''),
	('spgist inet', 'ip << ''10.0.1.0/24'''), ('brin', 'id between 300 and 350'), ('brin 2', 'k < 10');
-- rows that a sequential scan and an index scan (plain or bitmap) find differently, and whether an index was used
create function idx_compare() returns table (what text, rows bigint, wrong bigint, used boolean) language plpgsql as $$
declare c record; plan text; line text; a int[]; b int[]; d int[];
begin
	for c in select * from idx_checks order by 1 loop
		set local enable_seqscan = on; set local enable_indexscan = off;
		set local enable_indexonlyscan = off; set local enable_bitmapscan = off;
		execute 'select array_agg(id order by id) from idx_t where ' || c.cond into a;
		set local enable_seqscan = off; set local enable_bitmapscan = on;
		execute 'select array_agg(id order by id) from idx_t where ' || c.cond into b;
		plan := '';
		for line in execute 'explain select array_agg(id order by id) from idx_t where ' || c.cond loop
			plan := plan || line;
		end loop;
		set local enable_indexscan = on; set local enable_bitmapscan = off;
		execute 'select array_agg(id order by id) from idx_t where ' || c.cond into d;
		what := c.what;
		rows := coalesce(cardinality(a), 0);
		wrong := (a is distinct from b)::int + (a is distinct from d)::int;
		used := plan like '%Bitmap%';
		return next;
	end loop;
	set local enable_seqscan = on; set local enable_bitmapscan = on; set local enable_indexonlyscan = on;
end $$;
create function idx_fill(lo int, hi int) returns void language sql as $$
	insert into idx_t select g, nullif(g % 200, 13), 't' || g, point(g % 100, g % 100), idx_box(g % 97, g % 89),
		array[g % 10, g % 50 + 100, g], int4range(g % 60, g % 60 + 5),
		to_tsvector('simple', 'word' || g % 7 || case when g % 2 = 0 then ' even' else ' odd' end),
		('10.0.' || g % 4 || '.' || g % 250)::inet
	from generate_series(lo, hi) g
$$;
create function idx_create() returns void language plpgsql as $$
begin
	create index idx_btree on idx_t (k);
	create index idx_btree_t on idx_t (t text_pattern_ops, k desc nulls first) include (id);
	create index idx_hash on idx_t using hash (id);
	create index idx_hash_t on idx_t using hash (t);
	create index idx_gin on idx_t using gin (arr);
	create index idx_gin_slow on idx_t using gin (ts) with (fastupdate = off);
	create index idx_gist on idx_t using gist (b);
	create index idx_gist_p on idx_t using gist (p);
	create index idx_gist_r on idx_t using gist (r);
	create index idx_spgist_p on idx_t using spgist (p);
	create index idx_spgist_t on idx_t using spgist (t);
	create index idx_spgist_i on idx_t using spgist (ip inet_ops);
	create index idx_brin on idx_t using brin (id) with (pages_per_range = 2);
	create index idx_brin_k on idx_t using brin (k) with (pages_per_range = 2);
end $$;

-- before the data
select idx_create();
select idx_fill(1, 1000);
select * from idx_compare();
-- columns that no index has, then each indexed one
alter table idx_t add column plain int default 0;
update idx_t set plain = id;
update idx_t set k = k + 7 where id % 3 = 0;
update idx_t set t = 't' || (id + 1) where id % 4 = 0;
update idx_t set p = point(p[0] + 1, p[1]), b = idx_box(id % 50, id % 50) where id % 5 = 0;
update idx_t set arr = arr || 7, ts = ts || 'word5'::tsvector where id % 6 = 0;
update idx_t set r = int4range(50, 60) where id % 7 = 0;
update idx_t set ip = '10.0.1.77' where id % 8 = 0;
update idx_t set id = id + 10000 where id % 9 = 0;
select * from idx_compare();
begin;
update idx_t set k = 77, t = 't33', p = '(30,30)', arr = '{7}', r = '[54,56]', ts = 'word5 even', ip = '10.0.1.1', b = '((10,10),(20,20))'
 where id % 2 = 0;
select idx_fill(2001, 2300);
delete from idx_t where id % 5 = 1;
select * from idx_compare();
rollback;
select * from idx_compare();
delete from idx_t where id % 4 = 1;
select idx_fill(2301, 2500);
select * from idx_compare();
vacuum idx_t;
select idx_fill(2501, 2800);
select * from idx_compare();

-- after the data, with deleted and rolled-back rows about
drop index idx_btree, idx_btree_t, idx_hash, idx_hash_t, idx_gin, idx_gin_slow, idx_gist, idx_gist_p, idx_gist_r,
	idx_spgist_p, idx_spgist_t, idx_spgist_i, idx_brin, idx_brin_k;
begin;
select idx_fill(3001, 3200);
update idx_t set k = -1, t = 'gone';
rollback;
select idx_create();
select * from idx_compare();
reindex table idx_t;
select * from idx_compare();
-- built in the transaction that changed the rows, which then goes on
drop index idx_btree, idx_btree_t, idx_hash, idx_hash_t, idx_gin, idx_gin_slow, idx_gist, idx_gist_p, idx_gist_r,
	idx_spgist_p, idx_spgist_t, idx_spgist_i, idx_brin, idx_brin_k;
begin;
update idx_t set k = k + 1, r = '[1,100)' where id % 10 = 0;
select idx_fill(4001, 4100);
delete from idx_t where id % 11 = 0;
savepoint s;
update idx_t set k = 5555, t = 'rolled back';
rollback to s;
select idx_create();
update idx_t set t = 't12' || id where id % 13 = 0;
select what, rows, wrong from idx_compare();
commit;
select * from idx_compare();
-- many updates of one page's rows
do $$
begin
	for i in 1..30 loop
		update idx_t set k = (k + i) % 200, arr[1] = i % 10, p = point(i, i) where id between 2501 and 2520;
		if i % 3 = 0 then rollback; else commit; end if;
	end loop;
end $$;
select * from idx_compare();
select brin_summarize_new_values('idx_brin') >= 0 as summarized;
select gin_clean_pending_list('idx_gin') >= 0 as cleaned;
select * from idx_compare();

-- order by from an index: forward, backward, nearest first
set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off;
select array_agg(k) from (select k from idx_t where k > 190 order by k limit 20) s;
select array_agg(k) from (select k from idx_t where k < 10 order by k desc limit 20) s;
select round((p <-> '(20,20)')::numeric, 2) as dist from idx_t order by p <-> '(20,20)' limit 5;
select min(k), max(k) from idx_t;
reset all;

-- indexes of other shapes: expression, partial, unique nulls, exclusion, covering, many columns
create table idx_u (id int, k int, v text, during int4range, exclude using gist (during with &&)) using zheap;
create unique index idx_u_expr on idx_u ((id * 10));
create unique index idx_u_part on idx_u (k) where v = 'live';
create index idx_u_cover on idx_u (id, k, v) include (during);
insert into idx_u select g, g % 5, case when g <= 5 then 'live' else 'dead' end, int4range(g * 10, g * 10 + 10) from generate_series(1, 20) g;
insert into idx_u values (20, 100, 'x', '[1000,1001)');
insert into idx_u values (21, 1, 'live', '[1000,1001)');
insert into idx_u values (21, 1, 'dead', '[15,16)');
update idx_u set during = '[15,16)' where id = 5;
update idx_u set v = 'live' where id = 6;
update idx_u set v = 'dead' where id = 1;
update idx_u set v = 'live' where id = 6;
update idx_u set during = '[3000,3001)' where id = 1;
insert into idx_u values (21, 1, 'dead', '[15,16)');
select id, k, v, during from idx_u where v = 'live' or id > 20 or id = 1 order by id;
create table idx_n (a int, b int, unique nulls not distinct (a, b)) using zheap;
insert into idx_n values (1, null), (null, null), (1, 1);
insert into idx_n values (1, null);
update idx_n set a = null, b = null where b = 1;
select * from idx_n order by a, b;
drop table idx_t, idx_u, idx_n, idx_checks;
drop function idx_compare, idx_fill, idx_create, idx_box;
