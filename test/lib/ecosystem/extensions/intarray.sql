-- Arrays of integers: GIN and GiST.
create extension intarray;
\set type 'int[]'
\set value 'array[i % 11, i % 13, 99]'
\set index 'using gin (x gin__int_ops)'
\set probe 'x @@ ''3&(7|8)'''
\i parts/values.sql
\set index 'using gist (x gist__int_ops)'
\i parts/values.sql
