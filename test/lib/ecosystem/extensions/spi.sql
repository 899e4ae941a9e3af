-- The server's examples of triggers in C: keys of other tables checked and cascaded (by deletions only: how updates cascade is not
-- the same in all minor versions), numbers, times and users filled in.
-- errors: 3
set client_min_messages = warning;
create extension refint;
create extension autoinc;
create extension moddatetime;
create extension insert_username;
create table a (id int not null, v text);
create unique index a_id on a (id);
create table b (id int primary key, a int, v text);
create index b_a on b (a);
create table c (a int, v text);
create trigger to_a after insert or update on b for each row execute function check_primary_key('a', 'a', 'id');
create trigger of_a after delete or update on a for each row execute function check_foreign_key(2, 'cascade', 'id', 'b', 'a', 'c', 'a');
insert into a select g, 'v' || g from generate_series(1, 50) g;
insert into b select g, g % 50 + 1, 'w' from generate_series(1, 200) g;
insert into c select g % 50 + 1, 'c' from generate_series(1, 100) g;
insert into b values (0, 99, 'none');
update b set a = 98 where id = 1;
delete from a where id = 3;
begin; delete from a where id > 10; rollback;
begin; savepoint s; delete from a where id > 10; rollback to s; delete from a where id = 5; commit;
select count(*), sum(a) from b;
select count(*), sum(a) from c;
create trigger restricted after delete or update on b for each row execute function check_foreign_key(1, 'restrict', 'id', 'c', 'a');
delete from b where id = 7;
create sequence numbers;
create table filled (id int, n int, at timestamp, owner text, v text);
create trigger id before insert or update on filled for each row execute function autoinc('id', 'numbers');
create trigger at before update on filled for each row execute function moddatetime('at');
create trigger owner before insert or update on filled for each row execute function insert_username('owner');
insert into filled (n) select g from generate_series(1, 100) g;
update filled set v = 'changed' where n % 2 = 0;
update filled set id = 0 where n = 3;
begin; update filled set v = 'rolled back'; rollback;
select count(*), sum(id), count(at), min(owner), count(v) from filled;
select n, id from filled where n in (1, 3) order by n;
