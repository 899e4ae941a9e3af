-- Samples of a table, fuzzy comparison, aggregates into arrays.
create extension tsm_system_rows;
create extension tsm_system_time;
create extension fuzzystrmatch;
create extension intagg;
create extension dict_int;
create table t (id int primary key, n int, v text);
insert into t select g, g, 'name ' || g % 50 from generate_series(1, 1000) g;
update t set v = 'other ' || n where n % 10 = 0;
begin; delete from t; rollback;
delete from t where n % 7 = 0;
select count(*) from t tablesample system_rows(100);
select count(*) > 0 from t tablesample system_time(1000);
select count(*), sum(levenshtein(v, 'nane 7')) from t where soundex(v) = soundex('name');
select sum(x) from (select int_array_enum(int_array_aggregate(n)) as x from t) s;
