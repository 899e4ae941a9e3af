-- Keys and values: GIN, GiST, B-tree and hash.
create extension hstore;
\set type hstore
\set value 'hstore(''a'', (i % 50)::text) || hstore(''b'' || i % 7, ''x'')'
\set index 'using gin (x)'
\set probe 'x @> ''a=>11'' or x ? ''b3'''
\i parts/values.sql
\set index 'using gist (x)'
\i parts/values.sql
\set index '(x)'
\set probe 'x = ''a=>17, b3=>x'''
\i parts/values.sql
