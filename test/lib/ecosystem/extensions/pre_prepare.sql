-- Statements prepared from a table.
-- package: postgresql-15-preprepare
create extension pre_prepare;
create table statements (name text primary key, statement text);
create table t (id int primary key, n int);
insert into statements values ('one', 'prepare one as select count(*), sum(n) from t'), ('two', 'prepare two (int) as update t set n = n + 1 where id = $1');
insert into t select g, g from generate_series(1, 100) g;
set preprepare.relation = 'public.statements';
select prepare_all();
execute two (7);
execute one;
update statements set statement = 'prepare one as select max(n) from t' where name = 'one';
delete from statements where name = 'two';
select discard();
deallocate all;
select prepare_all('public.statements');
execute one;
