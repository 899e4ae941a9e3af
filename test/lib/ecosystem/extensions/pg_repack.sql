-- Tables reorganized by the program, beside changes that its trigger notes: with the default access method that the table has.
-- package: postgresql-15-repack
-- program: pg_repack
create extension pg_repack;
create table t (id int primary key, n int, v text);
create index t_n on t (n);
insert into t select g, g, repeat('v' || g, 300) from generate_series(1, 3000) g;
update t set n = n + 1 where id % 3 = 0;
delete from t where id % 2 = 0;
\! pg_repack -t t --no-order eco 2>&1 | sed 's/[0-9]\{5,\}/N/g'
select count(*), sum(n), md5(string_agg(v, ',' order by id)) from t;
\! pg_repack -t t -o n eco 2>&1 | sed 's/[0-9]\{5,\}/N/g'
\! pg_repack -x -t t eco 2>&1 | sed 's/[0-9]\{5,\}/N/g'
begin; update t set n = 0; rollback;
update t set n = n + 1 where id % 5 = 0;
select count(*), sum(n), md5(string_agg(v, ',' order by id)) from t;
set enable_seqscan = off;
select id, n from t where n between 10 and 20 order by n, id;
-- what its trigger notes, by hand
do $$ declare r record; begin
	select * into r from repack.tables where relid = 't'::regclass;
	execute r.create_pktype; execute r.create_log; execute r.create_trigger;
	execute format('create view noted as select id, (pk).id as pk, (row).id as row, (row).v from repack.log_%s', r.relid);
end $$;
insert into t values (10001, 1, 'new');
update t set v = 'changed' where id = 10001;
update t set id = 10002 where id = 10001;
delete from t where id = 10002;
begin; delete from t; rollback;
select * from noted order by 1;
do $$ begin
	drop view noted; drop trigger repack_trigger on t;
	execute format('drop table repack.log_%1$s; drop type repack.pk_%1$s', 't'::regclass::oid);
end $$;
