-- Deleted rows that are still there: reads heap's pages, so tables of other access methods are refused:
-- package: postgresql-15-dirtyread
-- < 1|v1
-- < 2|v2
-- < 3|v3
-- < 4|changed
-- < 4|v4
-- < 5|v5
-- > ERROR:  only heap AM is supported
create extension pg_dirtyread;
create table t (id int, v text);
insert into t select g, 'v' || g from generate_series(1, 5) g;
delete from t where id = 3;
update t set v = 'changed' where id = 4;
select * from pg_dirtyread('t') as d(id int, v text) order by id, v;
select * from t order by id;
