-- What CREATE EXTENSION brings, and that its undo relation cannot be misused.
-- Reads the catalogs; tries statements on the undo relation and checks only how they end.
\set VERBOSITY terse
create extension zheap;
select amname, amtype from pg_am where amname like 'zheap%' order by 1;
select n.nspname, e.extversion ~ '^\d+\.\d+$' as version_ok
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace
 where extname = 'zheap';
select count(*) as undo_relations
  from pg_class c join pg_am a on a.oid = c.relam
 where amname = 'zheap_undo' and relkind = 'r' and relpersistence = 'p';

-- tables of every kind that has an access method
create table ext_plain (a int, b text) using zheap;
create table ext_as using zheap as select 1 as a;
create materialized view ext_matview using zheap as select a from ext_as;
set default_table_access_method = zheap;
create table ext_default (a int);
create table ext_like (like ext_plain);
select 1 as a into ext_into;
reset default_table_access_method;
create table ext_other (a int);
select c.relname, amname
  from pg_class c join pg_am a on a.oid = c.relam
 where relname like 'ext\_%' order by 1;
-- never frozen, so never in need of it; since 17 the server itself stamps what REFRESH fills, and VACUUM moves that on
select relname, relfrozenxid, relminmxid from pg_class where relname = 'ext_plain';
select relfrozenxid as stamp from pg_class where relname = 'ext_matview' \gset
create table ext_later (a int);
drop table ext_later;
vacuum ext_matview;
select relfrozenxid::text = '0' or (:'stamp' <> '0' and age(relfrozenxid) < age(:'stamp'::xid)) as moved, relminmxid::text = '0' or mxid_age(relminmxid) = 0 as multi
  from pg_class where relname = 'ext_matview';
-- the toast table is an ordinary one
select t.relkind, amname
  from pg_class c join pg_class t on t.oid = c.reltoastrelid join pg_am a on a.oid = t.relam
 where c.relname = 'ext_plain';

-- neither the extension nor its parts can go while tables need them
drop extension zheap;
drop access method zheap;
do $$
begin
	execute (select format('drop table %s', c.oid::regclass)
			   from pg_class c join pg_am a on a.oid = c.relam where amname = 'zheap_undo');
exception when dependent_objects_still_exist then
	raise notice 'refused';
end $$;

-- every statement on the undo relation is an error or does nothing
do $$
declare
	undo text := (select c.oid::regclass::text
				    from pg_class c join pg_am a on a.oid = c.relam where amname = 'zheap_undo');
	stmt text;
	outcome text;
	n bigint;
begin
	foreach stmt in array array['select from %s', 'insert into %s default values',
		'delete from %s', 'truncate %s', 'analyze %s'] loop
		begin
			execute format(stmt, undo);
			get diagnostics n = row_count;
			outcome := case when n = 0 then 'harmless' else n || ' rows' end;
		exception when others then
			outcome := 'harmless';
		end;
		raise notice '%: %', format(stmt, 'undo'), outcome;
	end loop;
end $$;
-- it gets nothing that only tables with rows have
create table ext_parent (a int);
create table ext_parts (a int) partition by list (a);
create table ext_no () ;
create function ext_fires() returns trigger language plpgsql as 'begin return null; end';
alter table zheap.undo add column a int;
alter table zheap.undo inherit ext_parent;
alter table ext_no inherit zheap.undo;
alter table ext_parts attach partition zheap.undo default;
alter table zheap.undo enable row level security;
alter table zheap.undo replica identity full;
alter table if exists zheap.undo set (fillfactor = 50), set access method heap;
alter table zheap.undo set unlogged;
create table ext_child () inherits (ext_parent, zheap.undo);
create foreign table ext_foreign () inherits (zheap.undo) server ext_server;
create trigger ext_trigger after insert on zheap.undo execute function ext_fires();
create policy ext_policy on zheap.undo;
create rule ext_rule as on insert to zheap.undo do nothing;
create index on zheap.undo ((1));
do $$ begin execute 'alter table zheap.undo add column a int'; exception when feature_not_supported then raise notice '%', sqlerrm; end $$;
set search_path = zheap, public;
alter table undo add column a int;
create temp table undo ();
alter table undo add column a int;
drop table undo;
reset search_path;
select relnatts, relhastriggers, relrowsecurity, relhassubclass, relpersistence from pg_class where oid = 'zheap.undo'::regclass;
alter table zheap.undo set (autovacuum_enabled = off), set tablespace pg_default, owner to current_user;
alter table zheap.undo reset (autovacuum_enabled);
drop table ext_parent, ext_parts, ext_no;
drop function ext_fires;
-- a storage parameter that would have logical decoding read the table
create table ext_decoded (a int) using zheap with (user_catalog_table = true);
do $$
declare
	hint text;
begin
	create table ext_decoded (a int) using zheap with (user_catalog_table = true);
exception when feature_not_supported then
	get stacked diagnostics hint = pg_exception_hint;
	raise notice '%', hint;
end $$;
alter table ext_plain set (user_catalog_table, fillfactor = 50);
create table ext_heap (a int) using heap with (user_catalog_table = true);
alter table ext_heap set access method zheap;
alter table ext_plain set (user_catalog_table = false);
alter table ext_plain reset (user_catalog_table);
select relname, reloptions from pg_class where relname in ('ext_decoded', 'ext_plain', 'ext_heap') order by 1;
drop table ext_heap;
-- nor under another name of the access method
create access method ext_am type table handler zheap.zheap_tableam_handler;
create table ext_renamed (a int) using ext_am with (user_catalog_table = true);
create table ext_renamed (a int) using ext_am;
alter table ext_renamed set (user_catalog_table);
drop access method ext_am cascade;
insert into ext_plain values (1, 'still works');
update ext_plain set b = b || ', too';
select * from ext_plain;

drop materialized view ext_matview;
drop table ext_plain, ext_as, ext_default, ext_like, ext_into, ext_other;
-- a dropped and recreated extension starts afresh, also in one transaction
begin;
drop extension zheap;
create table ext_gone (a int) using zheap;
rollback;
create table ext_back (a int) using zheap;
insert into ext_back values (1);
select * from ext_back;
drop table ext_back;
-- not into a schema whose owner could drop all zheap tables with it
\set SHOW_CONTEXT never
drop extension zheap;
drop schema zheap;
create role ext_owner;
create schema zheap authorization ext_owner;
\set VERBOSITY default
create extension zheap;
\set VERBOSITY terse
alter schema zheap owner to current_user;
create extension zheap;
drop extension zheap;
drop schema zheap;
drop role ext_owner;
create extension zheap;
select nspowner = (select oid from pg_roles where rolname = current_user) as own from pg_namespace where nspname = 'zheap';
