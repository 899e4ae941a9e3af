-- Periods with unique and foreign keys, updates of a portion, and system versioning, whose C triggers write the history.
-- package: postgresql-15-periods
-- errors: 3
create extension periods cascade;
create table prices (pk serial primary key, id int not null, price int, valid_from date not null, valid_to date not null);
select periods.add_period('prices', 'validity', 'valid_from', 'valid_to');
alter table prices add constraint whole unique (id, valid_from, valid_to) deferrable;
alter table prices add constraint apart exclude using gist (id with =, daterange(valid_from, valid_to, '[)') with &&) deferrable;
select periods.add_unique_key('prices', array['id'], 'validity', 'prices_key', 'whole', 'apart');
select periods.add_for_portion_view('prices', 'validity');
insert into prices (id, price, valid_from, valid_to) select g, g * 10, '2020-01-01', '2030-01-01' from generate_series(1, 20) g;
insert into prices (id, price, valid_from, valid_to) values (1, 0, '2021-01-01', '2022-01-01');
update prices__for_portion_of_validity set price = 7, valid_from = '2022-01-01', valid_to = '2023-01-01' where id % 2 = 0;
begin; update prices__for_portion_of_validity set price = 8, valid_from = '2022-06-01', valid_to = '2024-01-01'; rollback;
update prices set valid_to = '2029-01-01' where id = 1;
create table orders (id int not null, price_id int, valid_from date not null, valid_to date not null);
select periods.add_period('orders', 'validity', 'valid_from', 'valid_to');
select periods.add_foreign_key('orders', array['price_id'], 'validity', 'prices_key');
insert into orders values (1, 2, '2021-06-01', '2022-06-01'), (2, 3, '2021-01-01', '2022-01-01');
insert into orders values (3, 99, '2021-06-01', '2022-06-01');
delete from prices where id = 2 and valid_from = '2020-01-01';
delete from prices where id = 4;
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
