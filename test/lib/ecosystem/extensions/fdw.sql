-- Tables of this server as foreign tables: read, written and locked by another session; modified directly and row by row.
-- errors: 1
create extension postgres_fdw;
create extension dblink;
create table t (id int primary key, n int check (n > -100), v text);
create function touched() returns trigger language plpgsql as $$ begin new.v := coalesce(new.v, '') || '!'; return new; end $$;
create trigger touched before update on t for each row execute function touched();
select format('create server self foreign data wrapper postgres_fdw options (host %L, port %L, dbname ''eco'')', :'HOST', :'PORT') as s \gset
:s;
create user mapping for public server self options (user 'postgres');
create foreign table far (id int, n int, v text) server self options (table_name 't');
insert into far select g, g, 'v' || g from generate_series(1, 200) g;
update far set n = n + 1 where id % 2 = 0;
with u as (update far set n = far.n + s.x from (select generate_series(1, 10) as x offset 0) s where far.id = s.x returning far.*) select * from u order by id;
delete from far where id in (select generate_series(50, 60) offset 0);
update far set n = -100 where id = 3;
insert into far values (1, 0) on conflict do nothing;
begin; savepoint a; delete from far; rollback to a; update far set v = 'kept' where id = 100; commit;
begin; update far set n = 0; rollback;
select * from far where id = 100 for update;
analyze far;
select count(*), sum(n), md5(string_agg(v, ',' order by id)) from far;
alter foreign table far options (add batch_size '50');
insert into far select g, g, 'b' from generate_series(1001, 1200) g;
select format('host=%s port=%s dbname=eco user=postgres', :'HOST', :'PORT') as c \gset
select dblink_connect('c', :'c');
select dblink_exec('c', 'update t set n = 7 where id > 1190');
select dblink_build_sql_update('t', '1', 1, array['1'], array['2']);
select dblink_build_sql_insert('t', '1', 1, array['1'], array['2000']);
select dblink_open('c', 'cursor_', 'select id, n from t where id > 1195 order by id');
select * from dblink_fetch('c', 'cursor_', 3) as r(id int, n int);
select dblink_close('c', 'cursor_');
select dblink_disconnect('c');
select count(*), sum(n) from t;
