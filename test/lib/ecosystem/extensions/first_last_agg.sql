-- Aggregates over rows in the order of an index.
-- package: postgresql-15-first-last-agg
-- package: postgresql-15-extra-window-functions
create extension first_last_agg;
create extension extra_window_functions;
create table t (id int primary key, n int);
create index t_n on t (n, id);
insert into t select g, g % 10 from generate_series(1, 1000) g;
update t set n = n + 5 where id % 3 = 0;
begin; update t set n = 0; rollback;
delete from t where id % 7 = 0;
select n, first(id order by id), last(id order by id) from t group by n order by n;
select n, max(x), max(y) from (select n, flip_flop(id % 2 = 0) over w::int as x, lag_ignore_nulls(id) over w as y from t window w as (partition by n order by id)) s group by 1 order by 1;
