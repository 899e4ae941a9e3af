-- A profile of functions that change a table, saved in its own tables' form.
-- package: postgresql-15-plprofiler
-- preload: plprofiler
create extension plprofiler;
create table t (id int primary key, n int);
create function work(x int) returns int language plpgsql as $$
declare r int; begin insert into t values (x, 1); update t set n = n + x where id = x returning n into r; return r; end $$;
select pl_profiler_set_enabled_local(true);
select sum(work(g)) from generate_series(1, 50) g;
select pl_profiler_set_enabled_local(false);
select line_number, exec_count from pl_profiler_linestats_local() where func_oid = 'work(int)'::regprocedure order by 1;
insert into pl_profiler_saved (s_name, s_options, s_callgraph_overflow, s_functions_overflow, s_lines_overflow) values ('one', '{}', false, false, false);
update pl_profiler_saved set s_name = 'two';
delete from pl_profiler_saved where s_name = 'one';
select s_id, s_name from pl_profiler_saved;
