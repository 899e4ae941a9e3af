-- TIDs that no row has, with any bits above those of an offset: no row, as on heap.
create table tid_inv (id int primary key, n int) using zheap;
insert into tid_inv select g, 0 from generate_series(1, 3) g;
explain (costs off) select id from tid_inv where ctid = '(0,63490)';
select id from tid_inv where ctid = '(0,63490)';
select id from tid_inv where ctid = any ('{"(0,63490)","(0,2)"}');
create function tid_inv_all() returns tid[] language sql stable as
	'select array_agg(format(''(0,%s)'', k * 2048 + row)::tid) from generate_series(1, 31) k, generate_series(1, 3) row';
select id from tid_inv where ctid = any (tid_inv_all());
select id from tid_inv where ctid = any (tid_inv_all()) for update;
update tid_inv set n = n + 1 where ctid = any (tid_inv_all()) returning id;
delete from tid_inv where ctid = any (tid_inv_all()) returning id;
merge into tid_inv t using unnest(tid_inv_all()) as u on t.ctid = u when matched then delete;
select count(*) from tid_inv where ctid >= '(0,2048)';
-- a TID that no row has leads nowhere
select currtid2('tid_inv', '(0,4098)'), currtid2('tid_inv', '(0,61442)'), currtid2('tid_inv', '(0,2)');
select currtid2('tid_inv', '(0,2048)'), currtid2('tid_inv', '(0,61440)'), currtid2('tid_inv', '(0,63488)');
select id from tid_inv where ctid = any ('{"(0,2048)","(0,61440)","(0,63488)"}');
select id from tid_inv where ctid = any ('{"(0,2048)","(0,63488)"}') for update;
update tid_inv set n = 5 where ctid = any ('{"(0,2048)","(0,63488)"}') returning id;
-- nor where the transaction has changed or locked the rows, or a cursor has
begin;
update tid_inv set n = 1 where id = 1;
select id from tid_inv where id = 2 for update;
delete from tid_inv where id = 3;
declare c cursor for select id from tid_inv where id = 2 for update;
fetch c;
select id from tid_inv where ctid = any (tid_inv_all());
update tid_inv set n = 10 where ctid = any (tid_inv_all()) returning id;
-- the cursor's own row is found
update tid_inv set n = 2 where current of c returning id, n;
select id from tid_inv where ctid = any (tid_inv_all());
delete from tid_inv where current of c returning id;
commit;
select id, n from tid_inv order by id;
drop function tid_inv_all;
drop table tid_inv;
