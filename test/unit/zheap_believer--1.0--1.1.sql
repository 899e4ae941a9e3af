/* test/unit/zheap_believer--1.0--1.1.sql */
\echo Use "ALTER EXTENSION zheap_believer UPDATE TO '1.1'" to load this file. \quit

create table believer_updated (a int, b int);
