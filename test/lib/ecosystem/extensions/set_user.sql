-- Another role for a while, which changes tables.
-- package: postgresql-15-set-user
-- preload: set_user
create extension set_user;
create role other;
create table t (id int primary key, n int);
grant all on t to other;
select set_user('other');
insert into t select g, g from generate_series(1, 100) g;
update t set n = n + 1 where id % 2 = 0;
begin; delete from t; rollback;
select current_user, count(*), sum(n) from t;
select reset_user();
select current_user, count(*), sum(n) from t;
drop owned by other;
drop role other;
