-- CLUSTER and VACUUM FULL: all rows and no others come through, in the order asked for; indexes, toasted values and
-- later changes work on the new file; a rewrite that is rolled back has not happened. The output is heap's.
create table clu_t (id int primary key, k int, gone text, v text, w text) using zheap;
insert into clu_t select i, (i * 7919) % 1009, 'gone', md5(i::text), repeat('w', i % 50) from generate_series(1, 1000) i;
create index clu_k on clu_t (k);
create index clu_desc on clu_t (k desc);
create index clu_expr on clu_t ((1009 - k));
create view clu_sum as select count(*), sum(id) as ids, sum(k) as ks, md5(string_agg(id || v || w, ',' order by id)) from clu_t;
select * from clu_sum;

-- in an index's order, by sorting and by walking it
cluster clu_t using clu_k;
select id, k from clu_t limit 4;
select * from clu_sum;
set enable_sort = off;
set enable_seqscan = off;
cluster clu_t using clu_desc;
reset enable_seqscan;
select id, k from clu_t limit 4;
select * from clu_sum;
reset enable_sort;
set maintenance_work_mem = '1MB';
cluster clu_t using clu_expr;
select id, k from clu_t limit 4;
cluster clu_t using clu_t_pkey;
reset maintenance_work_mem;
select id, k from clu_t limit 4;
cluster clu_t;
select indexrelid::regclass, indisclustered from pg_index where indrelid = 'clu_t'::regclass order by indexrelid::regclass::text collate "C";

-- deleted, updated and rolled back rows; a dropped and an added column
delete from clu_t where id % 3 = 0;
update clu_t set w = w || w where id % 3 = 1;
update clu_t set k = -k where id % 10 = 1;
begin;
update clu_t set v = 'aborted';
delete from clu_t where id % 2 = 0;
insert into clu_t values (-1, -1, '', 'aborted', '');
rollback;
begin;
update clu_t set w = w || 'committed' where id < 20;
savepoint a;
update clu_t set w = 'aborted';
delete from clu_t where id < 100;
rollback to a;
commit;
alter table clu_t drop column gone;
alter table clu_t add column more int default 42;
select * from clu_sum;
vacuum full clu_t;
select * from clu_sum;
select id, k, w, more from clu_t where id < 9 order by id;
select id, k from clu_t order by k limit 4;
set enable_seqscan = off;
select id from clu_t where k = -901;
select id from clu_t where 1009 - k = 1009 + 901;
reset enable_seqscan;
cluster clu_t using clu_k;
select * from clu_sum;
select id, k from clu_t limit 4;
-- and it can be changed as ever
insert into clu_t (id, k) values (4, 4);
insert into clu_t (id, k, v, w) values (3, 4, 'new', '');
update clu_t set k = 5, v = 'newer' where id = 3;
select * from clu_sum;

-- own changes, seen by commands of the same transaction, old and new
create function clu_seen() returns text stable language sql as
  'select string_agg(id || '':'' || v, '' '' order by id) from clu_t where id between 1 and 8';
begin;
update clu_t set v = 'one' where id < 5;
declare c1 cursor for select clu_seen() from generate_series(1, 3);
fetch c1;
update clu_t set v = 'two' where id < 3;
delete from clu_t where id = 4;
insert into clu_t (id, k, v, w) values (6, 6, 'six', '');
declare c2 cursor for select clu_seen() from generate_series(1, 3);
savepoint a;
update clu_t set v = 'three' where id = 1;
update clu_t set k = k + 1000, v = 'moved' where id = 2;
savepoint b;
update clu_t set v = 'aborted' where id = 3;
rollback to b;
cluster clu_t using clu_k;
cluster clu_t using clu_t_pkey;
fetch c1;
fetch c2;
select clu_seen();
update clu_t set v = 'four' where id = 1;
delete from clu_t where id = 7;
select clu_seen();
fetch c1;
fetch c2;
savepoint d;
update clu_t set v = 'aborted' where id < 10;
delete from clu_t;
cluster clu_t using clu_k;
select count(*) from clu_t;
rollback to d;
select clu_seen();
cluster clu_t using clu_k;
select clu_seen();
commit;
select clu_seen();
select * from clu_sum;

-- rolled back as a whole
begin;
update clu_t set v = 'aborted';
cluster clu_t using clu_k;
delete from clu_t where id < 500;
rollback;
select * from clu_sum;
begin;
savepoint a;
delete from clu_t where id < 10;
cluster clu_t using clu_t_pkey;
insert into clu_t (id, v) values (-2, 'aborted');
rollback to a;
update clu_t set v = 'kept' where id = 8;
commit;
select clu_seen();
select * from clu_sum;

-- long values
create table clu_long (id int primary key, dropped text, a text, b text, n int) using zheap;
alter table clu_long alter column a set storage external;
insert into clu_long
  select i, repeat('d', 3000), repeat(chr(64 + i), 5000), string_agg(md5((i * j)::text), ''), 0
  from generate_series(1, 20) i, generate_series(1, 200) j group by i;
insert into clu_long values (21, null, null, 'x' , 0) ;
update clu_long set n = 1 where id % 2 = 0;
update clu_long set a = repeat('z', 6000) where id % 4 = 0;
delete from clu_long where id % 5 = 0;
alter table clu_long drop column dropped;
create view clu_long_sum as select count(*), sum(n), md5(string_agg(id || coalesce(a, 'null') || b, ',' order by id)) from clu_long;
select * from clu_long_sum;
begin;
update clu_long set b = b || 'b' where id < 4;
update clu_long set a = repeat('y', 7000) where id < 3;
delete from clu_long where id = 6;
cluster clu_long using clu_long_pkey;
cluster clu_long using clu_long_pkey;
select * from clu_long_sum;
rollback;
select * from clu_long_sum;
cluster clu_long using clu_long_pkey;
select * from clu_long_sum;
vacuum full clu_long;
select * from clu_long_sum;
update clu_long set a = 'short' where id = 1;
select id, length(a), length(b) from clu_long where id < 5 order by id;
-- no long values are left without a row
create function clu_chunks() returns bigint language plpgsql as $$
declare n bigint;
begin
  execute 'select count(distinct chunk_id) from ' ||
    (select reltoastrelid::regclass from pg_class where oid = 'clu_long'::regclass) into n;
  return n;
end $$;
vacuum full clu_long;
select clu_chunks();

-- rows as wide as they get; fillfactor; many at once
create table clu_wide (id int primary key, a char(2000), b char(2000), c char(2000), d char(1900)) using zheap;
do $$
begin
  for i in 2..4 loop
    execute format('alter table clu_wide alter column %I set storage plain', chr(95 + i));
  end loop;
  alter table clu_wide alter column d set storage plain;
end $$;
insert into clu_wide select i, 'a' || i, 'b', 'c', 'd' from generate_series(1, 5) i;
update clu_wide set d = 'dd' where id = 3;
delete from clu_wide where id = 2;
cluster clu_wide using clu_wide_pkey;
select id, trim(a), trim(d) from clu_wide;
create table clu_fill (id int primary key, n int) using zheap with (fillfactor = 30);
insert into clu_fill select i, i from generate_series(1, 2000) i;
vacuum full clu_fill;
update clu_fill set n = n + 1;
select count(*), sum(n) from clu_fill;

-- temporary, unlogged, partitioned tables, materialized views
create temp table clu_temp (id int primary key, n int) using zheap;
insert into clu_temp select i, 100 - i from generate_series(1, 100) i;
create index clu_temp_n on clu_temp (n);
begin;
delete from clu_temp where id > 90;
update clu_temp set n = n + 1000 where id > 80;
savepoint a;
update clu_temp set n = 0;
rollback to a;
cluster clu_temp using clu_temp_n;
select id, n from clu_temp limit 3;
savepoint b;
update clu_temp set n = 0;
rollback to b;
select count(*), sum(n) from clu_temp;
rollback;
select count(*), sum(n) from clu_temp;
cluster clu_temp using clu_temp_n;
select id, n from clu_temp limit 3;
vacuum full clu_temp;
select count(*), sum(n) from clu_temp;
create unlogged table clu_unl (id int primary key, n int) using zheap;
insert into clu_unl select i, 100 - i from generate_series(1, 100) i;
delete from clu_unl where id > 90;
vacuum full clu_unl;
cluster clu_unl using clu_unl_pkey;
select count(*), sum(n) from clu_unl;
create table clu_part (id int, n int) partition by range (id);
create table clu_part1 partition of clu_part for values from (0) to (50) using zheap;
create table clu_part2 partition of clu_part for values from (50) to (101) using zheap;
create index clu_part_n on clu_part (n);
insert into clu_part select i, 100 - i from generate_series(0, 100) i;
update clu_part set id = 100 - id where n between 20 and 29;
cluster clu_part using clu_part_n;
select * from clu_part1 limit 2;
vacuum full clu_part;
select count(*), sum(id), sum(n) from clu_part;
create materialized view clu_mv using zheap as select id, n from clu_fill;
create index clu_mv_n on clu_mv (n);
cluster clu_mv using clu_mv_n;
refresh materialized view clu_mv;
vacuum full clu_mv;
select count(*), sum(n) from clu_mv;

-- nobody may be reading
begin;
declare c cursor for select * from clu_fill;
fetch c;
cluster clu_fill using clu_fill_pkey;
rollback;

-- empty, and emptied
create table clu_empty (id int primary key) using zheap;
cluster clu_empty using clu_empty_pkey;
vacuum full clu_empty;
insert into clu_empty select generate_series(1, 100);
delete from clu_empty;
vacuum full clu_empty;
select pg_relation_size('clu_empty');
insert into clu_empty values (1);
select * from clu_empty;

drop materialized view clu_mv;
drop view clu_sum, clu_long_sum;
drop function clu_seen, clu_chunks;
drop table clu_t, clu_long, clu_wide, clu_fill, clu_temp, clu_unl, clu_part, clu_empty;
