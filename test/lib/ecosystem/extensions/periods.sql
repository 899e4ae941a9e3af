-- Periods with unique and foreign keys, updates of a portion, and system versioning, whose C triggers write the history.
-- package: postgresql-15-periods
-- errors: 3
create extension periods cascade;
create table plans (pk serial primary key, id int not null, price int, valid_from date not null, valid_to date not null);
select periods.add_period('plans', 'validity', 'valid_from', 'valid_to');
select periods.add_for_portion_view('plans', 'validity');
insert into plans (id, price, valid_from, valid_to) select g, g * 10, '2020-01-01', '2030-01-01' from generate_series(1, 20) g;
update plans__for_portion_of_validity set price = 7, valid_from = '2022-01-01', valid_to = '2023-01-01' where id % 2 = 0;
begin; update plans__for_portion_of_validity set price = 8, valid_from = '2022-06-01', valid_to = '2024-01-01'; rollback;
update plans__for_portion_of_validity set price = 9, valid_from = '2025-01-01', valid_to = '2030-01-01' where id = 4;
select id, price, valid_from, valid_to from plans order by id, valid_from;
create table prices (id int not null, price int, valid_from date not null, valid_to date not null);
select periods.add_period('prices', 'validity', 'valid_from', 'valid_to');
select periods.add_unique_key('prices', array['id'], 'validity', key_name := 'prices_key');
insert into prices select g, g * 10, '2020-01-01', '2025-01-01' from generate_series(1, 20) g;
insert into prices select g, g * 11, '2025-01-01', '2030-01-01' from generate_series(1, 20) g;
insert into prices values (1, 0, '2021-01-01', '2022-01-01');
update prices set valid_to = '2029-01-01' where id = 1 and price = 11;
create table orders (id int not null, price_id int, valid_from date not null, valid_to date not null);
select periods.add_period('orders', 'validity', 'valid_from', 'valid_to');
select periods.add_foreign_key('orders', array['price_id'], 'validity', 'prices_key');
insert into orders values (1, 2, '2024-06-01', '2026-06-01'), (2, 3, '2021-01-01', '2022-01-01');
insert into orders values (3, 99, '2021-06-01', '2022-06-01');
delete from prices where id = 2 and valid_from = '2020-01-01';
delete from prices where id = 4;
begin; delete from orders; delete from prices; rollback;
update orders set valid_to = '2025-06-01' where id = 1;
select id, price, valid_from, valid_to from prices order by id, valid_from;
create table accounts (id int primary key, n int, v text);
select periods.add_system_time_period('accounts');
select periods.add_system_versioning('accounts');
insert into accounts select g, g, 'v' || g from generate_series(1, 20) g;
update accounts set n = n + 1 where id % 2 = 0;
update accounts set v = repeat('long', 3000) where id = 4;
begin; update accounts set n = 0; delete from accounts; rollback;
begin; delete from accounts where id = 5; update accounts set n = 100 where id = 6; savepoint a; update accounts set n = 200 where id = 6; rollback to a; commit;
select id, n, length(v), system_time_end = 'infinity' as now from accounts_with_history order by id, system_time_start, n;
select id, n from accounts order by id;
