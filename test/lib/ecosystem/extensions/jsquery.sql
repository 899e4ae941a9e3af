-- Both GIN operator classes under updates.
-- package: postgresql-15-jsquery
create extension jsquery;
\set type jsonb
\set value 'jsonb_build_object(''a'', i % 50, ''b'', jsonb_build_array(i % 7, i % 11), ''c'', jsonb_build_object(''d'', ''x'' || i % 13))'
\set index 'using gin (x jsonb_path_value_ops)'
\set probe 'x @@ ''a($ > 11 and $ < 20) and b.# = 3''::jsquery'
\i parts/values.sql
\set index 'using gin (x jsonb_value_path_ops)'
\set probe 'x @@ ''*.d = "x5" or a = 17''::jsquery'
\i parts/values.sql
