-- The program that checks catalogs and the relations' files.
-- package: postgresql-15-pg-catcheck
-- program: pg_catcheck
create table t (id int primary key, v text);
insert into t select g, repeat('v', 3000) from generate_series(1, 100) g;
create materialized view m as select * from t;
create table p (id int) partition by range (id);
create table p1 partition of p for values from (0) to (10);
vacuum full t;
checkpoint;
\! pg_catcheck --select-from-relations eco
