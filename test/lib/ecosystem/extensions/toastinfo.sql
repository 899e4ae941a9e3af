-- How values are stored: as in heap.
-- package: postgresql-15-toastinfo
create extension toastinfo;
create table t (id int primary key, v text, e text);
alter table t alter e set storage external;
insert into t values (1, 'short', 'short'), (2, repeat('long', 100), repeat('long', 100)), (3, repeat('long', 1000), repeat('long', 1000)),
	(4, (select string_agg(md5(g::text), '') from generate_series(1, 300) g), repeat('long', 10000)), (5, null, '');
select id, pg_toastinfo(v), pg_toastinfo(e) from t order by id;
update t set id = id + 10;
update t set v = v || 'x' where id > 12;
begin; update t set v = '', e = ''; rollback;
select id, pg_toastinfo(v), pg_toastinfo(e), pg_toastpointer(e) is not null from t order by id;
