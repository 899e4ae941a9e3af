-- Updates in place of columns of B-trees where functions tell the key: predicates, expressions, included columns, and types whose equal values may differ in their bytes.
-- Each statement runs on heap and on zheap, and each kind of plan is asked for all rows of both.
create extension if not exists amcheck;
set client_min_messages = warning;
-- a server without ICU has deterministic collations only
do $$ begin
	create collation ek_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
exception when feature_not_supported then
	create collation ek_nocase from "C";
end $$;
create table ek_h (id int, state text, prio int, d numeric, f float8, c char(8), v interval, t text collate ek_nocase, email text, tags int[], doc jsonb, payload text, unused int) using heap;
create table ek_z (like ek_h) using zheap with (autovacuum_enabled = off, fillfactor = 50);
create function ek_run(statement text) returns void language plpgsql as $$
begin
	execute replace(statement, 'ek_t', 'ek_h');
	execute replace(statement, 'ek_t', 'ek_z');
end $$;
select count(ek_run(replace(s, '@', 'ek_t'))) from unnest(array[
	'create index @_pending on @ (prio, id) where state = ''pending''',
	'create index @_state on @ (id) where state <> ''done''',
	'create index @_d on @ (d)',
	'create index @_f on @ (f)',
	'create index @_c on @ (c)',
	'create index @_v on @ (v, prio)',
	'create index @_t on @ (t)',
	'create index @_email on @ (lower(email))',
	'create index @_half on @ ((prio / 2), (d * 2)) where prio > 3',
	'create index @_tags on @ (tags)',
	'create index @_doc on @ ((doc ->> ''k''))',
	'create index @_inc on @ (prio) include (payload)',
	'create index @_unused on @ (unused)',
	'create index @_unused2 on @ (unused, id)',
	'create index @_unused3 on @ (unused) where unused > 0']) s;
select ek_run('insert into ek_t select i, (array[''pending'', ''running'', ''done''])[1 + i % 3], i % 10, i % 7, i % 5, ''c'' || i % 4, make_interval(hours => i % 50), ''T'' || i % 6, ''User'' || i % 9, array[i % 5, 1], jsonb_build_object(''k'', i % 8), ''p'' || i % 3, i from generate_series(1, 120) i');
-- the answers of each index, in its order, by each kind of plan
create function ek_answers(t text) returns setof text language plpgsql as $$
declare
	q text;
	how text;
begin
	foreach how in array array['indexscan', 'bitmapscan', 'indexonlyscan', 'seqscan'] loop
		perform set_config('enable_' || x, (x = how)::text, true) from unnest(array['indexscan', 'bitmapscan', 'indexonlyscan', 'seqscan']) x;
		perform set_config('enable_indexscan', 'on', true) where how = 'indexonlyscan';
		foreach q in array array[
			'select prio, id from % where state = ''pending'' order by prio, id',
			'select id from % where state <> ''done'' order by id',
			'select d::text from % where d >= 0 order by d, d::text',
			'select f::text from % where f >= -1 order by f, f::text',
			'select c::text from % where c >= ''a'' order by c, c::text',
			'select v::text from % where v >= ''0'' order by v, v::text collate "C"',
			'select t::text collate "C" as x from % where t >= ''t'' order by x',
			'select lower(email), id from % where lower(email) >= ''u'' order by 1, 2',
			'select id from % where prio / 2 >= 1 and d * 2 >= 0 and prio > 3 order by id',
			'select tags, id from % where tags >= ''{0}'' order by 1, 2',
			'select id, doc from % where doc ->> ''k'' >= ''3'' order by 1',
			'select prio, payload from % where prio >= 0 order by 1, 2'] loop
			return query execute format('select %L || %L || coalesce(string_agg(r::text, '' '' order by n), '''') from (select r, row_number() over () n from (%s) r) r', how || ' ', q, replace(q, '%', t));
		end loop;
	end loop;
end $$;
-- count the answers that differ, and check the indexes
create function ek_check(what text) returns text language plpgsql as $$
declare
	n bigint;
	o oid;
begin
	select count(*) into n from (select replace(a, 'ek_h', 'ek_z') from ek_answers('ek_h') a except select b from ek_answers('ek_z') b) x;
	for o in select indexrelid from pg_index where indrelid = 'ek_z'::regclass loop
		perform bt_index_parent_check(o, true, true);
	end loop;
	return what || ': ' || n || ' differ';
end $$;
select ek_check('at the beginning');
-- a snapshot of the beginning, by cursors over each index
create table ek_queries (n int, q text);
insert into ek_queries values
	(1, 'select prio, id, state from % where state = ''pending'' order by prio, id'),
	(2, 'select id, d::text from % where d between 1 and 3 order by d, id'),
	(3, 'select id, email from % where lower(email) >= ''u'' order by lower(email), id'),
	(4, 'select id, prio, payload from % where prio >= 0 order by prio, id'),
	(5, 'select id, t::text from % where t = ''t1'' order by id'),
	(6, 'select id, d::text from % where prio / 2 >= 2 and prio > 3 order by id');
create procedure ek_changes() language plpgsql as $$
declare
	s text;
begin
	foreach s in array array[
		'update ek_t set state = ''running'' where state = ''pending'' and id % 2 = 0',
		'update ek_t set state = ''done'' where state = ''running'' and id % 4 = 0',
		'update ek_t set d = 2.0 where id % 5 = 1',
		'update ek_t set d = 2.00 where id % 10 = 1',
		'update ek_t set d = 3 where id % 20 = 1',
		'update ek_t set d = 2.0 where id % 40 = 1',
		'update ek_t set f = ''-0'' where f = 0 and id % 2 = 0',
		'update ek_t set f = 3 where id % 6 = 1',
		'update ek_t set c = ''c1'' where id % 3 = 0',
		'update ek_t set v = ''1 day'' where id % 8 = 0',
		'update ek_t set v = ''24:00'' where id % 16 = 0',
		'update ek_t set t = lower(t) where id % 3 = 1',
		'update ek_t set t = ''t1'' where id % 3 = 2',
		'update ek_t set t = ''T1'' where id % 6 = 5',
		'update ek_t set email = upper(email) where id % 2 = 1',
		'update ek_t set email = ''uX'' where id % 7 = 1',
		'update ek_t set prio = prio + 1 where id % 4 = 2',
		'update ek_t set prio = prio - 1 where id % 8 = 2',
		'update ek_t set tags = array[2, id % 3] where id % 3 = 1',
		'update ek_t set doc = doc || ''{"k": 5}'' where id % 5 = 2',
		'update ek_t set doc = doc || ''{"other": 5}'' where id % 5 = 3',
		'update ek_t set payload = ''q'' where id % 10 = 3',
		'update ek_t set prio = null where id % 30 = 4',
		'update ek_t set state = ''pending'' where state = ''done'' and id % 3 = 0',
		'update ek_t set state = null where id % 50 = 7',
		'update ek_t set state = ''pending'' where id % 50 = 7'] loop
		perform ek_run(s);
	end loop;
end $$;
begin isolation level repeatable read;
do $$ declare q record; begin
	set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = on;
	for q in select * from ek_queries loop
		execute format('declare ek_h%s cursor for %s', q.n, replace(q.q, '%', 'ek_h'));
		execute format('declare ek_z%s cursor for %s', q.n, replace(q.q, '%', 'ek_z'));
	end loop;
end $$;
create table ek_read (t text, n int, r text);
call ek_changes();
select ek_check('changed');
do $$ declare q record; c text; r record; begin
	for q in select * from ek_queries loop
		foreach c in array array['ek_h', 'ek_z'] loop
			for r in execute format('fetch all from %s%s', c, q.n) loop
				insert into ek_read values (c, q.n, r::text);
			end loop;
		end loop;
	end loop;
end $$;
select n, count(*), string_agg(r, ' ' order by r) filter (where t = 'ek_h') = string_agg(r, ' ' order by r) filter (where t = 'ek_z') as same from ek_read group by n order by n;
savepoint s;
call ek_changes();
select ek_check('changed again');
rollback to s;
select ek_check('rolled back');
commit;
select ek_check('committed');
call ek_changes();
begin;
call ek_changes();
select ek_run('update ek_t set d = d + 1, state = ''x'', email = ''a'' || email, prio = prio + 3');
rollback;
select ek_check('rolled back as a whole');
select ek_run('delete from ek_t where id % 9 = 0');
select ek_check('deleted');
vacuum ek_z;
select ek_check('vacuumed');
call ek_changes();
reindex table ek_z;
select ek_check('reindexed');
-- one row, many keys, away and back
do $$ begin
	for i in 1..300 loop
		perform ek_run(format('update ek_t set state = %L, d = %s, email = %L, prio = %s where id = 10',
			(array['pending', 'running', 'done'])[1 + i % 3], (array['1.0', '1.00', '2', '3.5', '1.0'])[1 + i % 5], (array['u1', 'U1', 'u2'])[1 + i % 3], i % 11));
	end loop;
end $$;
select ek_check('one row, many keys');
-- which stay, and which move
create function ek_stays(change text) returns text language plpgsql as $$
declare
	place tid;
	now tid;
begin
	delete from ek_z where id = 1000;
	insert into ek_z values (1000, 'pending', 5, 1.0, 0, 'c1', '1 day', 'T1', 'Eve', '{1}', '{"k": 1}', 'p', 1) returning ctid into place;
	execute 'update ek_z set ' || change || ' where id = 1000 returning ctid' into now;
	return change || case when place = now then ' stays' else ' moves' end;
end $$;
select ek_stays(c) from unnest(array['state = ''running''', 'state = null', 'd = 2', 'd = 1.00', 'f = 1', 'f = ''-0''', 'c = ''c1  ''', 'c = ''c2''', 'v = ''2 days''', 'v = ''24:00''',
	'email = ''EVE''', 'email = ''Adam''', 'tags = ''{2}''', 'doc = ''{"k": 1, "l": 2}''', 'doc = ''{"k": 2}''', 'payload = ''q''', 'prio = 6', 'prio = 1']) c;
select ek_stays('t = ''t2''');
select ek_stays('t = ''t1''') = 't = ''t1''' || case when collisdeterministic then ' stays' else ' moves' end from pg_collation where collname = 'ek_nocase';
-- an equal entry with other bytes is there, of an older version
do $$ declare i tid; j tid; k tid; begin
	select ctid into i from ek_z where id = 1000;
	update ek_z set d = 7 where id = 1000 returning ctid into j;
	update ek_z set d = 1.00 where id = 1000 returning ctid into k;
	raise warning '% %', i = j, j = k;
end $$;
-- functions that are not in C, domains, whole rows
create function ek_sql(int) returns int immutable language sql as 'select $1 + 1';
create function ek_pl(int) returns int immutable language plpgsql as 'begin return $1 + 1; end';
create domain ek_domain as int check (ek_pl(value) > 0);
select 'sql' as function, ek_stays('unused = 2') from (select ek_run('create index ek_t_x on ek_t (ek_sql(unused))')) x;
drop index ek_z_x, ek_h_x;
select 'plpgsql' as function, ek_stays('unused = 2') from (select ek_run('create index ek_t_x on ek_t (id) where ek_pl(unused) > 1')) x;
drop index ek_z_x, ek_h_x;
select 'domain' as function, ek_stays('unused = 2') from (select ek_run('create index ek_t_x on ek_t ((unused::ek_domain))')) x;
drop index ek_z_x, ek_h_x;
select 'none' as function, ek_stays('unused = 2');
-- an expression that fails for the new version fails as on heap, and for no older one
create table ek_fail (id int, n int) using zheap;
insert into ek_fail select i, i % 3 from generate_series(1, 9) i;
update ek_fail set n = 5 where n = 0;
create index ek_fail_i on ek_fail ((100 / n));
update ek_fail set n = 0 where id = 3;
update ek_fail set n = 7 where id = 3;
reindex table ek_fail;
set enable_seqscan = off; set enable_bitmapscan = off;
select id, n from ek_fail where 100 / n = 14;
select count(*) from ek_fail where 100 / n = 20;
vacuum ek_fail;
select bt_index_parent_check('ek_fail_i', true, true);
select * from zheap.zheap_verify('ek_z');
drop table ek_h, ek_z, ek_queries, ek_read, ek_fail;
drop function ek_run, ek_answers, ek_check, ek_stays, ek_sql;
drop procedure ek_changes;
drop domain ek_domain;
drop function ek_pl;
drop collation ek_nocase;
drop extension amcheck;
