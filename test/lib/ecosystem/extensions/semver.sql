-- Versions in B-tree and hash indexes; such as are equal and look different ("1.0.0+a" and "1.0.0+b").
-- package: postgresql-15-semver
create extension semver;
\set type semver
\set value '(i % 5 || ''.'' || i % 11 || ''.'' || i % 3 || case when i % 4 = 0 then ''-beta.'' || i % 6 else '''' end)::semver'
\set index '(x)'
\set probe 'x between ''1.2.0'' and ''3.3.1-beta.4'''
\i parts/values.sql
\set index 'using hash (x)'
\set probe 'x = ''2.4.1'''
\i parts/values.sql
\set one '''1.0.0+a''::semver'
\set other '''1.0.0+b''::semver'
\i parts/equal.sql
