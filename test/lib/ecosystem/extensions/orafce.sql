-- Types with indexes; signals of DBMS_ALERT, which it keeps in a temporary table and sends at commit; functions.
-- package: postgresql-15-orafce
create extension orafce;
set search_path = public, oracle;
\set type 'varchar2(40)'
\set value '(''name '' || i % 60 || '' '' || i % 7)::varchar2(40)'
\set index '(x)'
\set probe 'x between ''name 11'' and ''name 20'''
\i parts/values.sql
\set type oracle.date
\set value '(''2020-01-01''::timestamp + i % 300 * interval ''1 day'')::oracle.date'
\set probe 'x < ''2020-02-01''::oracle.date'
\i parts/values.sql
create table t (id int primary key, n int, v varchar2(20));
create function signals() returns trigger language plpgsql as $$
begin perform dbms_alert.signal('changed', new.id::text); return new; end $$;
create trigger signals after update on t for each row execute function signals();
insert into t select g, g, nvl(null::text, 'v' || g) from generate_series(1, 20) g;
select dbms_alert.register('changed');
update t set n = n + 1 where id = 7;
select * from dbms_alert.waitany(10);
begin; update t set n = 0 where id = 8; rollback;
select * from dbms_alert.waitone('changed', 0);
select dbms_alert.removeall();
update t set v = decode(id, 1, 'one', 2, 'two', 'more'), n = greatest(n, 5);
select sum(n), listagg(v, ',') from (select * from t order by id limit 5) s;
select oracle.substr(v, 1, 2), oracle.add_months(date '2020-01-31', id) from t where id < 3 order by id;
