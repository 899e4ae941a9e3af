-- The index method of bloom, with two columns.
create extension bloom;
\set type int
\set value 'i % 97'
\set index 'using bloom (x, id)'
\set probe 'x = 17'
\i parts/values.sql
