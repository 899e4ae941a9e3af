-- Exclusion constraints, and GiST indexes of plain types.
-- errors: 2
create extension btree_gist;
\set type int
\set value 'i % 97'
\set index 'using gist (x)'
\set probe 'x between 16 and 18 or x <> 17 and x < 5'
\i parts/values.sql
create table rooms (room int, during int4range, n int, exclude using gist (room with =, during with &&));
insert into rooms select g % 5, int4range(g * 10, g * 10 + 5), g from generate_series(1, 50) g;
insert into rooms values (1, '[12,13)', 0);
update rooms set during = '[100,200)' where n = 1;
update rooms set during = '[1000,1001)' where n = 1;
insert into rooms values (1, '[12,13)', 0);
begin; delete from rooms where n = 0; insert into rooms values (1, '[11,14)', -1); rollback;
insert into rooms values (1, '[11,14)', -1) on conflict do nothing;
select count(*), sum(n), min(lower(during)) from rooms;
