-- Long integers and fractions in B-tree and hash indexes, in place and toasted.
-- package: postgresql-15-pgmp
create extension pgmp;
\set type mpz
\set value '(i % 60)::mpz ^ 40'
\set index '(x)'
\set probe 'x between 11::mpz ^ 40 and 20::mpz ^ 40'
\i parts/values.sql
\set type mpq
\set value 'mpq((i % 60)::mpz, (i % 7 + 1)::mpz)'
\set probe 'x between ''11/3''::mpq and ''20''::mpq'
\i parts/values.sql
\set index 'using hash (x)'
\set probe 'x = ''17/4''::mpq'
\i parts/values.sql
\set one '''1/2''::mpq'
\set other '''2/4''::mpq'
\i parts/equal.sql
create table long (id int primary key, z mpz);
insert into long select g, 3::mpz ^ (g * 500) from generate_series(1, 100) g;
update long set z = z * z where id % 3 = 0;
begin; update long set z = 0; rollback;
select count(*), md5(string_agg(z::text, ',' order by id)) from long;
