-- Functions checked against tables; dependencies shown; a profile of one that runs.
-- package: postgresql-15-plpgsql-check
create extension plpgsql_check;
load 'plpgsql_check';
create table t (id int primary key, n int);
create function good(x int) returns int language plpgsql as $$
declare r t; begin insert into t values (x, 1); update t set n = n + 1 where id = x returning * into r; return r.n; end $$;
create function bad() returns void language plpgsql as $$
begin update t set missing = 1; perform nowhere(); end $$;
create function touched() returns trigger language plpgsql as $$ begin new.n := new.n + 1; return new; end $$;
create trigger touched before update on t for each row execute function touched();
select * from plpgsql_check_function('good(int)');
select * from plpgsql_check_function('bad()', fatal_errors := false);
select * from plpgsql_check_function('touched()', 't');
select type, schema, name from plpgsql_show_dependency_tb('good(int)') order by 1, 3;
set plpgsql_check.profiler = on;
select sum(good(g)) from generate_series(1, 100) g;
select lineno, exec_stmts from plpgsql_profiler_function_tb('good(int)') where exec_stmts > 0;
select count(*), sum(n) from t;
