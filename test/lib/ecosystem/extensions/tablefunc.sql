-- Pivot tables, and trees in tables.
create extension tablefunc;
create table sales (who text, quarter text, n int);
insert into sales select 'w' || g % 5, 'q' || g % 4, g from generate_series(1, 20) g;
update sales set n = n * 10 where quarter = 'q1';
begin; delete from sales; rollback;
select * from crosstab('select who, quarter, sum(n) from sales group by 1, 2 order by 1, 2', 'values (''q0''), (''q1''), (''q2''), (''q3'')') as t(who text, q0 int, q1 int, q2 int, q3 int);
create table tree (id text primary key, parent text);
insert into tree select 'n' || g, 'n' || g / 2 from generate_series(1, 20) g;
update tree set parent = 'n3' where id = 'n20';
select * from connectby('tree', 'id', 'parent', 'n1', 0, '/') as t(id text, parent text, level int, branch text) order by branch;
