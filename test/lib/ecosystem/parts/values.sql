-- Rows with a column of a type and an index of it.  Variables: type, value (an expression of the number i), index (what
-- comes after the table's name), probe (a condition that the index serves).
\set shown 'select count(*), md5(string_agg(id || '':'' || x::text, '','' order by id)) from v'
set client_min_messages = warning;
drop table if exists v;
reset client_min_messages;
create table v (id int primary key, x :type, n int default 0);
create index v_x on v :index;
insert into v select i, :value from generate_series(1, 500) i;
analyze v;
set enable_seqscan = off;
:shown where :probe;
-- the cursor's snapshot is older than the updates
begin;
declare old cursor for select id, md5(x::text) from v where :probe order by id limit 5;
update v set n = n + 1;
update v set x = s.x from (select i - 3 as id, :value as x from generate_series(1, 503) i) s where v.id = s.id and v.id % 3 = 0;
update v set x = s.x from (select i - 7 as id, :value as x from generate_series(1, 507) i) s where v.id = s.id and v.id % 6 = 0;
fetch all from old;
:shown where :probe;
commit;
begin;
savepoint a;
update v set x = s.x from (select i - 1 as id, :value as x from generate_series(1, 501) i) s where v.id = s.id;
insert into v select i, :value, 1 from generate_series(2001, 2100) i;
:shown where :probe;
rollback to a;
update v set x = s.x from (select i - 11 as id, :value as x from generate_series(1, 511) i) s where v.id = s.id and v.id between 100 and 300;
commit;
begin; update v set x = null; delete from v where id % 2 = 0; rollback;
delete from v where id % 10 = 0;
update v set x = null where id % 13 = 0;
:shown where :probe;
vacuum v;
:shown where :probe;
insert into v select i, :value, 1 from generate_series(1001, 1250) i;
:shown where :probe;
reset enable_seqscan;
:shown;
select pg_stat_force_next_flush();
select relname, idx_scan > 0 from pg_stat_user_indexes where indexrelname = 'v_x';
