-- What is logged of statements and of single tables.
-- package: postgresql-15-pgaudit
-- preload: pgaudit
create extension pgaudit;
create role auditor;
create table t (id int primary key, n int, secret text);
grant select (secret), update (secret) on t to auditor;
create materialized view m as select 1 as x;
set pgaudit.log_client = on;
set pgaudit.log_level = notice;
set pgaudit.log_relation = on;
set pgaudit.log_rows = on;
set pgaudit.role = auditor;
set pgaudit.log = 'read, write, ddl';
insert into t select g, g from generate_series(1, 100) g;
update t set n = n + 1 where id < 10;
update t set secret = 'x' where id = 1;
select count(*) from t;
select secret from t where id = 1;
delete from t where id = 2;
merge into t using (values (3), (500)) s (id) on t.id = s.id when matched then update set n = 0 when not matched then insert values (s.id, 0);
copy t (id, n) from stdin;
501	1
502	2
\.
truncate t;
alter table t add column more int default 7;
create index on t (n);
refresh materialized view m;
drop table t;
set pgaudit.log = none;
drop role auditor;
