-- default_table_access_method = zheap is for every statement that makes a table and names no access method, whoever gives it: SQL, SQL
-- functions, procedures, DO, EXECUTE, schemas with their elements, event triggers.  Looks at which access method each table has.
create schema dm_tables;
set search_path = dm_tables;
set default_table_access_method = zheap;
create table dm_plain (a int);
create table dm_serial (a serial primary key, b int generated always as identity unique, c text);
create table dm_like (like dm_serial including all);
create table dm_child () inherits (dm_plain);
create table dm_typed_heap (a int) using heap;
create table dm_parts (a int) partition by list (a);
create table dm_part partition of dm_parts for values in (1);
create table dm_part_heap partition of dm_parts for values in (2) using heap;
create table dm_part_parts partition of dm_parts default partition by list (a);
create table dm_part_part partition of dm_part_parts default;
create type dm_type as (a int);
create table dm_of of dm_type;
create unlogged table dm_unlogged (a int);
create temp table dm_temp (a int);
create temp table dm_temp_dropped (a int) on commit drop;
create table if not exists dm_plain (a int);
create table dm_as as select 1 as a;
create table dm_as_heap using heap as select 1 as a;
create table dm_as_nothing as select 1 as a with no data;
create table if not exists dm_as as select 2 as a;
select 1 as a into dm_into;
create materialized view dm_matview as select 1 as a;
create unique index on dm_matview (a);
refresh materialized view concurrently dm_matview;
refresh materialized view dm_matview;
prepare dm_prepared as select 1 as a;
create table dm_execute as execute dm_prepared;
explain (analyze, costs off, timing off, summary off) create table dm_explain as select 1 as a \g /dev/null
explain (costs off) create table dm_not_made as select 1 as a;
create schema dm_schema create table dm_element (a int) create table dm_element_heap (a int) using heap create view dm_view as select * from dm_element;
do $$ begin
	create table dm_do (a int);
	execute 'create table dm_do_execute (a int)';
	begin
		create table dm_do_failed (a int, a int);
	exception when duplicate_column then
		create table dm_do_handler (a int);
	end;
end $$;
create function dm_plpgsql() returns int language plpgsql as $$ begin create table dm_in_plpgsql as select 1 as a; return 1; end $$;
create function dm_sql() returns int language sql as $$ create table dm_in_sql (a int); select 1 $$;
create procedure dm_procedure() language plpgsql as $$ begin
	create table dm_in_procedure (a int); commit; create table dm_after_commit (a int); rollback; create table dm_after_rollback (a int); end $$;
select dm_plpgsql(), dm_sql();
call dm_procedure();
drop function dm_plpgsql, dm_sql;
create function dm_plpgsql() returns int language plpgsql as $$ begin create table dm_inner (a int); return 1; end $$;
-- a statement within another, which has and has not made its table yet
create table dm_outer as select dm_plpgsql() as a;
drop table dm_outer, dm_inner;
create table dm_outer as select dm_plpgsql() as a with no data;
drop table dm_outer;
create table dm_outer_heap using heap as select dm_plpgsql() as a;
create function dm_event() returns event_trigger language plpgsql as $$ begin
	if tg_event = 'ddl_command_start' then create table if not exists dm_at_start (a int); end if;
	if tg_event = 'ddl_command_end' then create table if not exists dm_at_end (a int); end if; end $$;
create event trigger dm_starts on ddl_command_start when tag in ('CREATE VIEW', 'CREATE TABLE AS') execute function dm_event();
create event trigger dm_ends on ddl_command_end when tag in ('CREATE VIEW', 'CREATE TABLE AS') execute function dm_event();
create view dm_with_trigger as select 1 as a;
drop table dm_at_start, dm_at_end;
create table dm_with_trigger_as as select 1 as a;
drop event trigger dm_starts;
drop event trigger dm_ends;
-- nor does a table whose file is made anew meanwhile count as the statement's
create table dm_emptied (a int);
create function dm_start() returns event_trigger language plpgsql as $$ begin
	if tg_tag = 'CREATE TABLE' then truncate dm_emptied; else create temp table dm_of_trigger (a int) using zheap; drop table dm_of_trigger; end if; end $$;
create event trigger dm_starts on ddl_command_start when tag in ('CREATE TABLE', 'CREATE TABLE AS') execute function dm_start();
create table dm_beside_trigger (a int);
create table dm_beside_trigger_as as select 1 as a;
drop event trigger dm_starts;
-- rewritten tables keep theirs
alter table dm_typed_heap alter a type bigint;
vacuum full dm_typed_heap;
alter table dm_plain alter a type bigint;
vacuum full dm_like;
-- what the parameter shows, in parallel workers as well
select name as parallel from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query') \gset
select set_config(:'parallel', 'on', false);
select current_setting('default_table_access_method');
reset :parallel;
begin; set local default_table_access_method = heap; create table dm_set_local_heap (a int);
savepoint s; set default_table_access_method = zheap; create table dm_set_in_savepoint (a int); rollback to s; create table dm_after_savepoint_heap (a int); commit;
show default_table_access_method;
create function dm_with_setting() returns int language plpgsql set default_table_access_method = heap as $$ begin create table dm_by_function_heap (a int); return 1; end $$;
select dm_with_setting();
show default_table_access_method;
set default_table_access_method = 'zheap_undo'; create table dm_undo (a int); set default_table_access_method = no_such;
set default_table_access_method = heap;
create table dm_set_heap (a int);
create table dm_by_name (a int) using zheap;
reset default_table_access_method;
show default_table_access_method;
create table dm_reset_heap (a int);

-- all are zheap's but those whose name ends in _heap
select relname, amname from pg_class c join pg_am m on c.relam = m.oid
	where relname like 'dm\_%' and relkind in ('r', 'm') and amname <> case when relname like '%\_heap' then 'heap' else 'zheap' end;
select relkind, amname, count(*) from pg_class c left join pg_am m on c.relam = m.oid where relname like 'dm\_%' and relkind in ('r', 'm', 'p') group by 1, 2 order by 1, 2;
set client_min_messages = warning;
drop schema dm_tables, dm_schema cascade;
