-- GIN indexes of plain types.
create extension btree_gin;
\set type numeric
\set value '(i % 97)::numeric(8, 2)'
\set index 'using gin (x, n)'
\set probe 'x between 16 and 18 and n >= 0'
-- otherwise the whole primary key is scanned: for less on heap than on zheap, on PostgreSQL 19
set enable_indexscan = off;
\i parts/values.sql
