-- Indexes that are not there, in plans for tables that are.
-- package: postgresql-15-hypopg
create extension hypopg;
create table t (id int, n int, v text);
insert into t select g, g % 100, repeat('v', 50) from generate_series(1, 10000) g;
vacuum analyze t;
create function plan(query text) returns setof text language plpgsql as $$
declare r text; begin for r in execute 'explain (costs off) ' || query loop return next regexp_replace(r, '\d+', 'N', 'g'); end loop; end $$;
select * from plan('select * from t where id = 5');
select count(*) from hypopg_create_index('create index on t (id)');
select count(*) from hypopg_create_index('create index on t using brin (n)');
select * from plan('select * from t where id = 5');
select hypopg_relation_size(indexrelid) > 0 from hypopg_list_indexes;
update t set n = n + 1 where id = 5;
begin; delete from t; rollback;
select * from plan('update t set n = 1 where id = 5');
select hypopg_reset();
select * from t where id = 5;
