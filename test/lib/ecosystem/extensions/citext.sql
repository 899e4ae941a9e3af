-- Text without case: keys that are equal and look different, unique and foreign keys.
-- errors: 1
create extension citext;
\set type citext
\set value '((case i % 2 when 0 then ''Name'' else ''NAME'' end) || i % 60)::citext'
\set index '(x)'
\set probe 'x between ''name11'' and ''NAME2'''
\i parts/values.sql
\set index 'using hash (x)'
\set probe 'x = ''nAmE17'''
\i parts/values.sql
\set one '''Name''::citext'
\set other '''NAME''::citext'
\i parts/equal.sql
create table u (v citext primary key);
create table f (v citext references u on update cascade);
insert into u values ('One'), ('two');
insert into f values ('ONE'), ('Two');
insert into u values ('ONE');
update u set v = 'oNE' where v = 'one';
insert into u values ('TWO') on conflict (v) do update set v = excluded.v;
update u set v = 'three' where v = 'one';
select * from u order by v;
select * from f order by v;
