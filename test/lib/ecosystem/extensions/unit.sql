-- Quantities with units in B-tree indexes; equal ones of another unit.
-- package: postgresql-15-unit
create extension unit;
\set type unit
\set value '((i % 60)::text || '' m'')::unit'
\set index '(x)'
\set probe 'x between ''11 m'' and ''2000 cm'''
\i parts/values.sql
\set one '''1 km''::unit'
\set other '''1000 m''::unit'
\i parts/equal.sql
\set one '''0 m''::unit'
\set other '''-0 m''::unit'
\i parts/equal.sql
create table own (id int primary key, q unit);
insert into unit_units values ('step', '0.75 m'::unit, 0);
insert into own select g, (g || ' step')::unit from generate_series(1, 10) g;
update unit_units set unit = '0.8 m'::unit where name = 'step';
select * from own order by id;
select name, unit from unit_units where name = 'step';
