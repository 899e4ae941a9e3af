-- Values out of line: inserted, kept, replaced, shortened and deleted, with rollback of each.
-- Contents by hash; the toast table's rows are counted to see that none is lost or left over.
create function toast_noise(seed int, len int) returns text language sql immutable as $$
	select left(string_agg(md5(seed || '/' || g), ''), len) from generate_series(1, len / 32 + 1) g
$$;
-- live values in a table's toast table
create function toast_values(regclass) returns bigint language plpgsql as $$
declare n bigint;
begin
	execute format('select count(distinct chunk_id) from %s',
		(select reltoastrelid::regclass from pg_class where oid = $1)) into n;
	return n;
end $$;
create table toast_t (id int primary key, n int default 0, a text, b text) using zheap;
insert into toast_t select g, 0, toast_noise(g, g * 3000), 'b' || g from generate_series(1, 10) g;
create view toast_v as
	select id, n, length(a) as a, left(md5(a), 8) as a_md5, length(b) as b, left(md5(b), 8) as b_md5 from toast_t;
table toast_v order by id;
select toast_values('toast_t');
select count(*) as wrong from toast_t where a <> toast_noise(id, id * 3000);
select id, substr(a, 2990, 10) = substr(toast_noise(id, id * 3000), 2990, 10) as part from toast_t order by id;

-- a changed neighbour keeps the values
update toast_t set n = n + 1;
update toast_t set b = 'bb' || id where id < 4;
select toast_values('toast_t');
select count(*) as wrong from toast_t where a <> toast_noise(id, id * 3000);
-- replaced, by itself, by another row's, by a short and by a compressible one
update toast_t set a = toast_noise(id + 100, 5000) where id = 1;
update toast_t set a = a where id = 2;
update toast_t set a = (select a from toast_t where id = 5) where id = 3;
update toast_t set a = 'short' where id = 4;
update toast_t set a = repeat('again and again ', 1000) where id = 5;
update toast_t set a = null where id = 6;
update toast_t set b = a, a = b where id = 7;
update toast_t set b = toast_noise(id, 20000) where id = 8;
update toast_t set a = a || 'x' where id = 9;
table toast_v order by id;
select toast_values('toast_t');

-- the same rolled back, wholly and in part
begin;
update toast_t set a = toast_noise(id, 4000), b = toast_noise(-id, 4000);
select count(*) from toast_t where a = toast_noise(id, 4000) and b = toast_noise(-id, 4000);
delete from toast_t where id % 2 = 0;
insert into toast_t select g, 0, toast_noise(g, 100000), null from generate_series(11, 13) g;
select count(*), sum(length(a)) from toast_t;
rollback;
table toast_v order by id;
select toast_values('toast_t');
begin;
update toast_t set a = toast_noise(1, 10000) where id = 1;
savepoint s;
update toast_t set a = toast_noise(2, 10000) where id = 1;
update toast_t set a = null where id = 2;
rollback to s;
update toast_t set b = 'after' where id = 1;
savepoint s2;
update toast_t set a = 'gone' where id = 1;
rollback to s2;
select a = toast_noise(1, 10000) as a, b from toast_t where id = 1;
commit;
select a = toast_noise(1, 10000) as a, b from toast_t where id = 1;

-- in one transaction: inserted, updated and deleted
begin;
insert into toast_t values (20, 0, toast_noise(20, 30000), toast_noise(21, 30000));
update toast_t set n = 1 where id = 20;
update toast_t set a = toast_noise(22, 30000) where id = 20;
select a = toast_noise(22, 30000) and b = toast_noise(21, 30000) as ok from toast_t where id = 20;
delete from toast_t where id = 20;
commit;
select toast_values('toast_t');
-- an old version is still readable by a cursor
update toast_t set a = toast_noise(id + 200, 9000) where id > 7;
begin;
declare c cursor for select id, a = toast_noise(id + 200, 9000) as old from toast_t where id > 7;
update toast_t set a = 'new' where id > 7;
delete from toast_t where id = 10;
fetch all c;
commit;
select id, a from toast_t where id > 7 order by id;

-- storage of each kind, and its change
create table toast_s (id int, p text, e text, m text, x text) using zheap;
alter table toast_s alter p set storage plain, alter e set storage external, alter m set storage main;
insert into toast_s values (1, repeat('p', 1000), repeat('e', 10000), repeat('m', 10000), repeat('x', 10000));
insert into toast_s values (2, toast_noise(1, 1000), toast_noise(2, 10000), toast_noise(3, 4000), toast_noise(4, 10000));
insert into toast_s values (3, toast_noise(1, 1000), toast_noise(2, 1000), toast_noise(3, 1000), toast_noise(4, 1000));
alter table toast_s alter e set storage plain, alter x set storage main;
update toast_s set id = id + 10, x = x || 'x';
select id, md5(p), md5(e), md5(m), md5(x) from toast_s order by id;
alter table toast_s set (toast_tuple_target = 200);
update toast_s set p = '', e = '', x = toast_noise(id, 300);
select id, length(m), md5(x) from toast_s order by id;
select toast_values('toast_s') > 0 as has;
alter table toast_s alter x set compression pglz;
update toast_s set x = repeat('compress me ', 500);
select id, length(x), md5(x), pg_column_compression(x) from toast_s order by id;

-- into and out of another table, into a record and back, as array and composite elements
create table toast_c (like toast_t) using zheap;
insert into toast_c select * from toast_t;
drop view toast_v;
truncate toast_t;
select count(*), sum(length(a)), sum(length(b)) from toast_c;
do $$
declare r toast_c;
begin
	select * into r from toast_c where id = 8;
	insert into toast_t select (r).*;
	r.id := 108;
	insert into toast_t values (r.*);
end $$;
select id, length(b), b = toast_noise(8, 20000) as ok from toast_t order by id;
create table toast_r (id int, r toast_c, arr text[]) using zheap;
insert into toast_r select id, c, array[b, b] from toast_c c where id > 6;
delete from toast_c;
vacuum toast_c;
select id, (r).id as r_id, length((r).b), md5((r).b) = md5(arr[1]) as same, length(arr[2]) from toast_r order by 1;
create table toast_as using zheap as select * from toast_t;
select id, length(b) from toast_as order by id;

-- vacuum and truncate leave what is alive
delete from toast_r where id = 7;
vacuum toast_r;
select id, md5(arr::text) = md5(array[(r).b, (r).b]::text) as same from toast_r order by id;
begin;
truncate toast_r;
insert into toast_r (id, arr) values (1, array[toast_noise(1, 5000)]);
rollback;
select count(*), sum(length(arr::text)) from toast_r;
drop table toast_t, toast_s, toast_r, toast_c, toast_as;
drop function toast_noise, toast_values;
