-- Numbers of books in B-tree and hash indexes, of one operator family with others.
create extension isn;
\set type isbn
\set value 'make_valid((''0'' || lpad((i % 60 * 1000)::text, 8, ''0'') || ''?'')::isbn)'
\set index '(x)'
\set probe 'x between (select x from v where id = 11) and (select x from v where id = 20)'
\i parts/values.sql
\set index 'using hash (x)'
\set probe 'x = (select x from v where id = 17)'
\i parts/values.sql
