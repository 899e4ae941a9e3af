-- Extensions whose C code believes in heap lose nothing, whatever default_table_access_method is: their tables are heap tables
-- unless they name zheap.  A stand-in makes tables in its script and in C and writes to them; the answers are compared.
create view methods as select c.relname, m.amname from pg_class c join pg_am m on c.relam = m.oid
	where c.relkind in ('r', 'm') and c.oid > 16384 and c.relnamespace = 'public'::regnamespace;
-- what the C code of an extension does with a table of its own, and what it finds
create function use_heap(t regclass) returns text language plpgsql as $$
declare found text;
begin
	perform believer_insert(t, 1, 10), believer_catalog_insert(t, 2, 20), believer_multi_insert(t, 3, 30, 3);
	perform believer_update(t, 1, 11), believer_catalog_update(t, 2, 21), believer_delete(t, 3), believer_catalog_delete(t, 4);
	execute format('select string_agg(a || ''-'' || b, '' '' order by a) from %s where a > 0', t) into found;
	return format('%s: %s, %s %s', t, found, believer_count(t), believer_count(t, true));
end $$;
-- all that the extension does, from its creation to its end; then tables of the user's
create procedure live() language plpgsql as $$
declare
	line text;
begin
	create extension zheap_believer version '1.0';
	alter extension zheap_believer update;
	raise notice 'then %', current_setting('default_table_access_method');
	create extension zheap_believers;
	commit;
	perform believer_create('made_' || how || coalesce('_' || method, ''), how, method)
		from unnest(array['define', 'catalog', 'subcommand', 'query', 'spi']) how, unnest(array[null, 'heap', 'zheap']) method;
	create table user_as as select believer_create('made_within', 'define') is null as a;
	create table user_made (a int, b int);
	begin
		create table user_failed (a int, a int);
	exception when duplicate_column then
		perform believer_create('made_after_failure', 'define', null);
	end;
	for line in select format('%s: %s', amname, string_agg(relname, ' ' order by relname)) from methods group by amname order by amname loop
		raise notice '%', line;
	end loop;
	for line in select use_heap(relname::regclass) from methods where amname = 'heap' and relname !~ '^user_|_as$|_view$' order by relname loop
		raise notice '%', line;
	end loop;
	raise notice 'findings: %', (select count(*) from methods, zheap.zheap_verify(relname::regclass) where amname = 'zheap');
	execute (select 'drop table ' || string_agg(relname, ', ') from methods where relname ~ '^(user|made)_');
	drop extension zheap_believer cascade;
end $$;
\set VERBOSITY terse
call live();
set default_table_access_method = zheap;
call live();
-- the default comes back after an error, and in a transaction that is rolled back
create table believer_default (a int);
create extension zheap_believer;
drop table believer_default;
show default_table_access_method;
begin; create extension zheap_believer; savepoint s; create extension zheap_believers; rollback to s; show default_table_access_method; rollback;
do $$ begin
	create table believers (a int); create extension zheap_believers cascade;
exception when duplicate_table then
	raise notice '% %', sqlerrm, current_setting('default_table_access_method');
end $$;
-- a setting of the transaction's, of a function's
begin; set local default_table_access_method = heap; create extension zheap_believer version '1.0'; set local default_table_access_method = zheap;
select believer_create('local_heap', 'define'); alter extension zheap_believer update; create table local_user (a int);
select * from methods where relname ~ '^local|updated' order by 1; rollback;
-- what stays set after the script's end, for the transaction: nothing of ours, and nothing of the script's where zheap was the default
begin; create extension zheap_believers cascade; show default_table_access_method; create table local_user (a int); table methods order by 1; rollback;
show default_table_access_method;
create extension zheap_believer;
-- heap_getnext() sees that the table is not a heap table
select believer_count('believer_named');
select believer_count('believer_named', true);
drop extension zheap_believer;
reset default_table_access_method;
