-- A heap table and a zheap table get the same statements, one by one, and must hold and return the same rows throughout.
-- Row counts, RETURNING results, SQLSTATEs and contents by scan and by each index are compared after every statement.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
\set ON_ERROR_STOP true
set jit = off;

begin;
create function noise(seed int, len int) returns text language sql immutable as $$
	select left(string_agg(md5(seed || '/' || g), ''), len) from generate_series(1, len / 32 + 1) g
$$;

-- the twins differ in nothing but their access method
create function make_twins(definition text, indexes text[]) returns void language plpgsql as $$
declare kind text; ix text;
begin
	foreach kind in array array['heap', 'zheap'] loop
		execute format('drop table if exists twin_%s cascade', kind);
		execute format('create table twin_%s (%s) using %s', kind, definition, kind);
		foreach ix in array indexes loop
			execute format('create %s', replace(ix, 'twin', 'twin_' || kind));
		end loop;
	end loop;
end $$;

-- One statement on one twin ("twin" in the text stands for it): what came of it.
create function try_one(stmt text, kind text) returns text language plpgsql as $$
declare
	answer text := '';
	line text;
	n bigint;
begin
	stmt := regexp_replace(stmt, '\mtwin\M', 'twin_' || kind, 'g');
	if stmt ~* '\mreturning\M' or stmt ~* '^\s*select' then
		execute format('with w as (%s) select string_agg(w::text, '','' order by w::text) from w', stmt) into answer;
		return coalesce(answer, 'no rows');
	end if;
	execute stmt;
	get diagnostics n = row_count;
	return n || ' rows';
exception when others then
	return sqlstate;
end $$;

-- a digest of a twin's rows, by scan or by whatever index the condition allows
create function digest(kind text, indexed boolean, cond text) returns text language plpgsql as $$
declare answer text;
begin
	perform set_config('enable_seqscan', (not indexed)::text, true),
		set_config('enable_indexscan', indexed::text, true), set_config('enable_bitmapscan', indexed::text, true);
	execute format('select count(*) || '' '' || coalesce(md5(string_agg(t::text, '','' order by t::text)), '''') from twin_%s t where %s', kind, cond) into answer;
	return answer;
end $$;

-- The test: the same answer, and the same rows afterwards in every way to read them.
create function same(stmt text, about text default null) returns text language plpgsql as $$
declare
	conds text[] := array['id > -1000000', 'k between -1000000 and 1000000 or k is null', 'true'];
	cond text;
	heap text := try_one(stmt, 'heap');
	zheap text := try_one(stmt, 'zheap');
	a text;
	b text;
begin
	if heap is distinct from zheap then
		return is(zheap, heap, coalesce(about, left(stmt, 100)));
	end if;
	foreach cond in array conds loop
		a := digest('heap', false, cond);
		b := digest('zheap', false, cond);
		if a <> b then
			return is(b, a, coalesce(about, left(stmt, 100)) || ': rows by scan');
		end if;
		b := digest('zheap', true, cond);
		if a <> b then
			return is(b, a, coalesce(about, left(stmt, 100)) || ': rows by index where ' || cond);
		end if;
	end loop;
	return pass(coalesce(about, left(stmt, 100)));
end $$;

select no_plan();

-- a battery of statements on several shapes of table
create temp table shapes (no int, definition text, indexes text[]);
insert into shapes values
	(1, 'id int primary key, k int, v text', '{index on twin (k)}'),
	(2, 'pad "char" default ''p'', id int primary key, pad2 bool default true, v text, pad3 "char" default ''q'', k int',
		'{index on twin (k desc nulls first) include (v), index on twin using hash (id)}'),
	(3, 'id int primary key, k int, v text, n numeric default 1.5, a int[] default ''{1,2}'', t timestamptz default ''2001-01-01 00:00+00''',
		'{unique index on twin (k), index on twin using brin (k), index on twin using gin (a), index on twin (lower(v)) where k > 10}');
create temp table battery (no serial, stmt text);
insert into battery (stmt) values
	('insert into twin (id, k, v) select g, g, ''v'' || g from generate_series(1, 200) g'),
	('insert into twin (id, k, v) values (1, 5000, ''dup'')'),
	('insert into twin (id, k, v) values (1000, null, null), (1001, null, '''') returning id, k, v'),
	('update twin set v = v || ''!'' where id % 2 = 0'),
	('update twin set v = '''' where id % 3 = 0 returning id, v'),
	('update twin set v = noise(id, 300) where id % 7 = 0'),
	('update twin set v = null where id % 11 = 0'),
	('update twin set k = k + 1000 where id % 5 = 0 returning id, k'),
	('update twin set k = k - 1000 where k > 1000'),
	('update twin set id = id + 10000 where id between 50 and 60 returning id'),
	('update twin set id = id - 10000 where id > 10000'),
	('update twin set id = 1 where id = 2'),
	('update twin set k = null where id between 20 and 25'),
	('update twin set k = id where k is null and id < 100'),
	('delete from twin where id % 13 = 0 returning *'),
	('delete from twin where id = -1'),
	('insert into twin (id, k, v) select id + 300, k + 3000, v from twin where id < 100'),
	('update twin t set v = o.v from twin o where o.id = t.id - 1 and t.id % 4 = 0'),
	('update twin set v = (select max(v) from twin) where id = 3 returning v'),
	('with d as (delete from twin where id between 301 and 310 returning *) insert into twin (id, k, v) select id + 1000, k + 100000, v from d'),
	('insert into twin (id, k, v) values (5, 77777, ''up'') on conflict (id) do update set v = excluded.v || twin.v returning id, v'),
	('insert into twin (id, k, v) values (5, 77778, ''up'') on conflict do nothing'),
	('update twin set v = 1 / (id - 42)'),
	('insert into twin (id, k, v) select g, g * 7, g::text from generate_series(90, 1, -1) g'),
	('update twin set v = noise(id, 2500) where id % 17 = 0'),
	('update twin set v = left(v, 10) where length(v) > 1000'),
	('update twin set v = noise(id, 20000) where id in (1, 100, 150)'),
	('update twin set k = k where id in (1, 100)'),
	('update twin set v = v || ''x'' where id in (1, 150)'),
	('delete from twin where length(v) > 10000'),
	('select count(*), sum(id), min(v), max(k) from twin'),
	('select id, v from twin where id between 10 and 30'),
	('select k, count(*) from twin group by k having count(*) > 1'),
	('truncate twin'),
	('insert into twin (id, k, v) select g, -g, repeat(''r'', g % 120) from generate_series(1, 500) g'),
	('delete from twin where id > 480');

select same(stmt, no || ': ' || left(stmt, 80)) from (
	select b.no, b.stmt, 1 as shape from battery b where (select make_twins(definition, indexes) from shapes where no = 1) is not null order by b.no) s;
select same(stmt, no || ' (2): ' || left(stmt, 80)) from (
	select b.no, b.stmt from battery b where (select make_twins(definition, indexes) from shapes where no = 2) is not null order by b.no) s;
select same(stmt, no || ' (3): ' || left(stmt, 80)) from (
	select b.no, b.stmt from battery b where (select make_twins(definition, indexes) from shapes where no = 3) is not null order by b.no) s;

-- the same with each statement undone first, so that it meets what a rolled-back copy of itself has left
create function same_after_undo(stmt text, about text) returns text language plpgsql as $$
begin
	begin
		perform try_one(stmt, 'zheap');
		raise exception 'undo' using errcode = 'UNDO1';
	exception when sqlstate 'UNDO1' then
		null;
	end;
	return same(stmt, about);
end $$;
select same_after_undo(stmt, no || ', undone first: ' || left(stmt, 80)) from (
	select b.no, b.stmt from battery b where (select make_twins(definition, indexes) from shapes where no = 1) is not null order by b.no) s;
select same_after_undo(stmt, no || ' (3), undone first: ' || left(stmt, 80)) from (
	select b.no, b.stmt from battery b where (select make_twins(definition, indexes) from shapes where no = 3) is not null order by b.no) s;

-- pseudo-random statements over few rows, some of them undone on both twins
create function random_statement(inout x bigint, out stmt text) language plpgsql as $$
declare a int; b int;
begin
	x := (x * 1103515245 + 12345) % 2147483648;
	a := (x / 65536) % 40;
	x := (x * 1103515245 + 12345) % 2147483648;
	b := (x / 65536) % 400;
	stmt := case (x / 1000) % 10
		when 0 then format('insert into twin (id, k, v) values (%s, %s, noise(%s, %s))', a, b, a, b)
		when 1 then format('delete from twin where id = %s', a)
		when 2 then format('update twin set k = %s where id = %s', b, a)
		when 3 then format('update twin set v = noise(%s, %s) where id between %s and %s', b, b, a, a + 5)
		when 4 then format('update twin set v = left(v, %s) where id > %s', b % 50, a)
		when 5 then format('insert into twin (id, k, v) values (%s, %s, ''up'') on conflict (id) do update set v = twin.v || excluded.v, k = twin.k + 1', a, b)
		when 6 then format('update twin set id = %s where id = %s', b % 40, a)
		when 7 then format('update twin set v = null, k = null where id = %s', a)
		when 8 then format('delete from twin where k between %s and %s', b, b + 20)
		else format('update twin set k = coalesce(k, 0) + 1, v = coalesce(v, '''') || ''.'' where id %% 5 = %s', a % 5)
	end;
end $$;
create function same_random(start bigint, rounds int) returns text language plpgsql as $$
declare x bigint := start; stmt text; heap text; zheap text; how text;
begin
	for i in 1..rounds loop
		select r.x, r.stmt into x, stmt from random_statement(x) r;
		if x % 4 = 0 then
			begin
				perform try_one(stmt, 'heap'), try_one(stmt, 'zheap');
				raise exception 'undo' using errcode = 'UNDO1';
			exception when sqlstate 'UNDO1' then
				null;
			end;
		else
			heap := try_one(stmt, 'heap');
			zheap := try_one(stmt, 'zheap');
			if heap is distinct from zheap then
				return is(zheap, heap, format('seed %s, round %s: %s', start, i, stmt));
			end if;
		end if;
		heap := digest('heap', false, 'true');
		foreach how in array array['scan', 'id', 'k'] loop
			zheap := digest('zheap', how <> 'scan', case how when 'k' then 'k between -1 and 1000000 or k is null' else 'id > -1' end);
			if heap <> zheap then
				return is(zheap, heap, format('seed %s, round %s, by %s: %s', start, i, how, stmt));
			end if;
		end loop;
	end loop;
	return pass(format('seed %s: %s random statements', start, rounds));
end $$;
select same_random(seed, 200) from (
	select seed from generate_series(1, 8) seed
	 where (select make_twins(definition, indexes) from shapes where no = 1 + seed % 2) is not null) s;

-- queries over joins of the twins with each other
select make_twins(definition, indexes) from shapes where no = 1;
select same('insert into twin (id, k, v) select g, g % 20, ''v'' || g from generate_series(1, 300) g', 'rows to query');
select same('update twin set v = v || k where id % 3 = 0', 'rows to query, updated');
select bag_eq('select * from twin_zheap', 'select * from twin_heap', 'the same bag of rows');
select results_eq('select * from twin_zheap order by id', 'select * from twin_heap order by id', 'in the same order');
select is_empty('select * from twin_zheap except select * from twin_heap', 'nothing more');
select is_empty('select * from twin_heap except all select * from twin_zheap', 'nothing less');
select results_eq('select k, count(*), min(v), max(v) from twin_zheap group by k order by k',
	'select k, count(*), min(v), max(v) from twin_heap group by k order by k', 'grouped');
select results_eq('select z.id from twin_zheap z join twin_heap h using (id, k, v) order by 1', 'select id from twin_heap order by 1', 'joined');
select results_eq('select id, sum(k) over (order by id rows 3 preceding) from twin_zheap order by id',
	'select id, sum(k) over (order by id rows 3 preceding) from twin_heap order by id', 'windowed');
select results_eq('select distinct on (k) k, id from twin_zheap order by k, id desc', 'select distinct on (k) k, id from twin_heap order by k, id desc', 'distinct');
select results_eq('select id from twin_zheap where exists (select from twin_heap h where h.id = twin_zheap.id + 1) order by id',
	'select id from twin_heap where exists (select from twin_zheap z where z.id = twin_heap.id + 1) order by id', 'semijoined');
select results_eq('select a.id, b.id from twin_zheap a, twin_zheap b where a.k = b.k and a.id < b.id order by 1, 2',
	'select a.id, b.id from twin_heap a, twin_heap b where a.k = b.k and a.id < b.id order by 1, 2', 'self-joined');
select * from finish();
rollback;
