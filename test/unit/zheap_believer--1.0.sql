/* test/unit/zheap_believer--1.0.sql */
\echo Use "CREATE EXTENSION zheap_believer" to load this file. \quit

-- Rows written with the server's heap functions, past the access method of the table.
create function believer_insert(rel regclass, a int, b int) returns void
    language c strict as 'MODULE_PATHNAME';
create function believer_multi_insert(rel regclass, a int, b int, rows int) returns void
    language c strict as 'MODULE_PATHNAME';
create function believer_catalog_insert(rel regclass, a int, b int) returns void
    language c strict as 'MODULE_PATHNAME';
create function believer_update(rel regclass, a int, b int) returns void
    language c strict as 'MODULE_PATHNAME';
create function believer_catalog_update(rel regclass, a int, b int) returns void
    language c strict as 'MODULE_PATHNAME';
create function believer_delete(rel regclass, a int) returns void
    language c strict as 'MODULE_PATHNAME';
create function believer_catalog_delete(rel regclass, a int) returns void
    language c strict as 'MODULE_PATHNAME';

-- Rows counted by heap_getnext(); "by_heap": the scan is begun by heap_beginscan(), else by table_beginscan().
create function believer_count(rel regclass, by_heap boolean default false) returns bigint
    language c strict as 'MODULE_PATHNAME';

-- A table (a, b) made by C code: by 'define', 'catalog', 'subcommand', 'query' or 'spi'.
create function believer_create(name text, how text, method text default null) returns void
    language c called on null input as 'MODULE_PATHNAME';

-- A background worker of a library, which is a copy of zheap_unit, inserts (1, 1) by 'apply' or 'spi', or reads by 'read'.
create function believer_worker(library text, rel regclass, how text) returns void
    language c strict as 'MODULE_PATHNAME';

-- The tables of the extension: without an access method, by name, from a function, by C code.
create table believer_default (a int, b int, t text);
create table believer_named (a int, b int) using zheap;
create table believer_as as select 1 as a, 2 as b;
create materialized view believer_view as select 1 as a, 2 as b;
do $$ begin create table believer_do (a int, b int); end $$;
do $$ begin execute 'create table believer_execute as select 1 as a, 2 as b'; end $$;
select believer_create('believer_define', 'define'), believer_create('believer_spi', 'spi'),
    believer_create('believer_catalog', 'catalog'), believer_create('believer_subcommand', 'subcommand');

-- One from a function that sets the access method itself.
create function believer_set() returns void language plpgsql set default_table_access_method = zheap as
    $$ begin create table believer_set (a int, b int); end $$;
select believer_set();
drop function believer_set;
