-- Cubes and intervals of floating-point numbers: GiST and B-tree.
create extension cube;
create extension seg;
\set type cube
\set value 'cube(array[i % 31, i % 17])'
\set index 'using gist (x)'
\set probe 'x <@ ''(3,3),(6,6)''::cube'
\i parts/values.sql
\set type seg
\set value '((i % 31)::text || '' .. '' || (i % 31 + 2)::text)::seg'
\set probe 'x && ''9 .. 10'''
\i parts/values.sql
\set one '''1.0''::seg'
\set other '''1.00''::seg'
\i parts/equal.sql
