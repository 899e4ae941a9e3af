-- Paths of a tree: B-tree, GiST and hash.
create extension ltree;
\set type ltree
\set value '(''Top.a'' || i % 5 || ''.b'' || i % 9)::ltree'
\set index '(x)'
\set probe 'x between ''Top.a1'' and ''Top.a2'''
\i parts/values.sql
\set index 'using gist (x)'
\set probe 'x ~ ''*.b7'' or x <@ ''Top.a3'''
\i parts/values.sql
