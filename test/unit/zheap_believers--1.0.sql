/* test/unit/zheap_believers--1.0.sql */
\echo Use "CREATE EXTENSION zheap_believers" to load this file. \quit

create table believers (a int, b int);
