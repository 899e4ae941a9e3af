-- Partitions and inheritance children on zheap, alone and beside heap: routing, row movement, attach, pruning.
-- Rows are listed with the partition that holds them.
create table prt (id int, k int, v text) partition by range (k);
create table prt_a partition of prt for values from (0) to (10) using zheap;
create table prt_b partition of prt for values from (10) to (20) using zheap;
create table prt_h partition of prt for values from (20) to (30) using heap;
create index on prt (id);
insert into prt select g, g % 30, 'v' || g from generate_series(1, 90) g;
create view prt_v as select tableoid::regclass as part, count(*), sum(id) as ids, sum(k) as ks from prt group by 1;
table prt_v order by 1;
insert into prt values (1, 99, 'nowhere');
insert into prt values (100, 5, 'ret'), (101, 25, 'ret') returning tableoid::regclass, *;
update prt set v = v || '!' where k = 5;
select tableoid::regclass, * from prt where k = 5 order by id;
-- rows that move to another partition, in each direction
update prt set k = 15 where id = 100;
update prt set k = 16 where id = 101;
update prt set k = 25 where id = 100;
select tableoid::regclass, * from prt where id in (100, 101) order by id;
update prt set k = (k + 10) % 30;
table prt_v order by 1;
begin;
update prt set k = (k + 10) % 30;
update prt set v = 'moved' where k < 20;
delete from prt where k = 7;
table prt_v order by 1;
rollback;
table prt_v order by 1;
begin;
savepoint s;
update prt set k = (k + 10) % 30;
rollback to s;
update prt set k = 29 where k = 28;
commit;
table prt_v order by 1;
select count(*) from prt where v = 'moved';
update prt set k = 100 where id = 1;
update prt_a set k = 15 where id = 30;
delete from prt where id % 2 = 0;
table prt_v order by 1;
set enable_seqscan = off;
select tableoid::regclass, id, k from prt where id in (1, 11, 21, 31) order by id;
reset enable_seqscan;
-- pruning
explain (costs off) select * from prt where k = 12;
select count(*) from prt where k = 12;
-- attach, detach, default partition, other column order
create table prt_c (v text, junk int, id int, k int) using zheap;
alter table prt_c drop column junk;
insert into prt_c values ('attached', 200, 35);
alter table prt attach partition prt_c for values from (30) to (40);
create table prt_d partition of prt default using zheap;
insert into prt values (201, 1000, 'default'), (202, 36, 'c'), (203, null, 'null');
select tableoid::regclass, * from prt where id >= 200 order by id;
update prt set k = 12 where id in (200, 201);
update prt set k = 39 where id in (1, 203);
select tableoid::regclass, * from prt where id >= 200 or id = 1 order by id;
alter table prt detach partition prt_c;
table prt_v order by 1;
-- partitions of partitions, hash
create table prt_s partition of prt for values from (50) to (60) partition by hash (id);
create table prt_s0 partition of prt_s for values with (modulus 2, remainder 0) using zheap;
create table prt_s1 partition of prt_s for values with (modulus 2, remainder 1) using zheap;
insert into prt select g, 50 + g % 10, 'sub' from generate_series(301, 400) g;
select count(*), sum(id) from prt_s;
update prt set id = id + 1000 where k >= 50 and k < 60;
select count(*), sum(id) from prt_s;
select count(*) = (select count(*) from prt_s0) + (select count(*) from prt_s1) as ok from prt_s;
-- a unique key over partitions
create table prt_u (id int, k int, primary key (id, k)) partition by list (k);
create table prt_u1 partition of prt_u for values in (1) using zheap;
create table prt_u2 partition of prt_u for values in (2) using zheap;
insert into prt_u values (1, 1), (1, 2);
insert into prt_u values (1, 2);
update prt_u set k = 2 where k = 1;
delete from prt_u where k = 2;
update prt_u set k = 2 where k = 1;
select tableoid::regclass, * from prt_u;
truncate prt_u;
-- partitionwise joins and aggregates
set enable_partitionwise_join = on; set enable_partitionwise_aggregate = on;
select a.k, count(*) from prt a join prt b on a.k = b.k and a.id = b.id group by a.k order by a.k limit 5;
reset all;

-- inheritance
create table inh (id int, v text) using zheap;
create table inh_1 (extra int) inherits (inh) using zheap;
create table inh_2 (more text) inherits (inh) using heap;
create table inh_12 () inherits (inh_1, inh_2) using zheap;
insert into inh values (1, 'parent');
insert into inh_1 values (2, 'child', 22);
insert into inh_2 values (3, 'heap child', 'more');
insert into inh_12 values (4, 'both', 44, 'more');
update inh set v = v || ' updated';
select tableoid::regclass, * from inh order by id;
update only inh set id = 10;
delete from inh_1 where extra = 44;
update inh i set v = o.v from inh o where o.id = i.id - 1;
select tableoid::regclass, * from inh order by id;
alter table inh add column added int default 5;
update inh set added = added + id;
select tableoid::regclass, * from inh order by id;
begin;
delete from inh;
rollback;
select count(*), sum(added) from inh;
drop table inh cascade;
drop view prt_v;
drop table prt, prt_c, prt_u;
