-- A provider and a subscriber, one in this database, one in another of the same server, whose tables are heap tables.  Variables:
-- provider, subscriber (eco or eco_other).
create database eco_other;
alter database eco_other set default_table_access_method = heap;
select format('host=%s port=%s user=postgres dbname=%s', :'HOST', :'PORT', :'provider') as from, format('host=%s port=%s user=postgres dbname=%s', :'HOST', :'PORT', :'subscriber') as to \gset
\c :provider
create extension pglogical;
\i parts/wait.sql
create table t (id int primary key, n int, v text);
create table filtered (id int primary key, n int);
create table adds (id int primary key, v text);
insert into t select g, g, 'v' || g from generate_series(1, 500) g;
insert into t values (1000, 0, (select string_agg(md5(g::text), '') from generate_series(1, 300) g));
insert into filtered select g, g % 10 from generate_series(1, 100) g;
select pglogical.create_node('provider', :'from') > 0;
select pglogical.replication_set_add_table('default', 't');
select pglogical.replication_set_add_table('default_insert_only', 'adds');
\c :subscriber
create extension pglogical;
\i parts/wait.sql
create table t (id int primary key, n int, v text);
create table filtered (id int primary key, n int);
create table adds (id int primary key, v text);
select pglogical.create_node('subscriber', :'to') > 0;
select pglogical.create_subscription('s', :'from', synchronize_structure := false) > 0;
call wait_for($$(select status = 'replicating' from pglogical.show_subscription_status('s'))$$);
call wait_for($$(select count(*) = 501 from t)$$);
