-- Prefixes of telephone numbers: GiST and B-tree.
-- package: postgresql-15-prefix
create extension prefix;
\set type prefix_range
\set value '(case i % 3 when 0 then (100 + i % 70)::text else (1000 + i % 700)::text end)::prefix_range'
\set index 'using gist (x)'
\set probe 'x @> ''10171234'''
\i parts/values.sql
\set index '(x)'
\set probe 'x > ''150'''
\i parts/values.sql
\set one '''12''::prefix_range'
\set other '''12[]''::prefix_range'
\i parts/equal.sql
