-- Functions that run in another session, on tables.
-- package: postgresql-15-plproxy
create extension plproxy;
create table t (id int primary key, n int);
create function work(x int) returns int language sql as 'insert into t values (x, x) on conflict (id) do update set n = t.n + 1 returning n';
select format($f$create function far(x int) returns int language plproxy as 'connect ''dbname=eco host=%s port=%s''; target work;'$f$, :'HOST', :'PORT') as f \gset
:f;
select sum(far(g % 20)) from generate_series(1, 100) g;
begin; select far(1); rollback;
select count(*), sum(n) from t;
