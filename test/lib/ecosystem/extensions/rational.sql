-- Fractions in B-tree and hash indexes; equal ones that look different (1/2 and 2/4).
-- package: postgresql-15-rational
create extension pg_rational;
\set type rational
\set value '((i % 60) || ''/'' || (i % 7 + 1))::rational'
\set index '(x)'
\set probe 'x between ''11/3'' and ''20'''
\i parts/values.sql
\set index 'using hash (x)'
\set probe 'x = ''17/3'''
\i parts/values.sql
\set one '''1/2''::rational'
\set other '''2/4''::rational'
\i parts/equal.sql
-- an order kept by hand: between two neighbours
create table todo (task int primary key, pos rational unique);
insert into todo select g, g from generate_series(1, 50) g;
update todo set pos = rational_intermediate((select pos from todo where task = 3), (select pos from todo where task = 4)) where task % 10 = 0 and task = 20;
update todo set pos = rational_intermediate(null, (select min(pos) from todo)) where task = 40;
select string_agg(task || ' ' || pos, ', ' order by pos) from todo;
