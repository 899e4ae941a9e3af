/* test/unit/zheap_believers--1.0.sql */
\echo Use "CREATE EXTENSION zheap_believers" to load this file. \quit

create table believers (a int, b int);

-- Last, as it is meant for all that follows: the script itself sets the access method.
set local default_table_access_method = zheap;
create table believers_set (a int, b int);
