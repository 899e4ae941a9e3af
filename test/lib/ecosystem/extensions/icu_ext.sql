-- Indexes of sort keys and of a column with a custom comparison.
-- package: postgresql-15-icu-ext
create extension icu_ext;
create table t (id int primary key, v text);
create index t_v on t (icu_sort_key(v, 'en@colStrength=primary'));
insert into t select g, case g % 2 when 0 then 'Näme' else 'NAME' end || g % 50 from generate_series(1, 1000) g;
set enable_seqscan = off;
select count(*) from t where icu_sort_key(v, 'en@colStrength=primary') = icu_sort_key('name17', 'en@colStrength=primary');
update t set v = upper(v) where id % 3 = 0;
update t set v = 'name' || id % 20 where id % 5 = 0;
begin; update t set v = 'x'; rollback;
vacuum t;
select count(*), sum(id) from t where icu_sort_key(v, 'en@colStrength=primary') = icu_sort_key('name17', 'en@colStrength=primary');
