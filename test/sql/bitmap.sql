-- Bitmap scans, exact and lossy, over pages with every kind of row.
-- Counts through a bitmap with tiny work_mem equal those of a sequential scan.
create table bmp_t (id int, a int, b int, c text) using zheap;
insert into bmp_t select g, g % 97, (g * 7919) % 1009, repeat('c', 250) from generate_series(1, 40000) g;
create index bmp_a on bmp_t (a);
create index bmp_b on bmp_t (b);
create function bmp_compare() returns table (cond text, rows bigint, sum bigint, same boolean, plan text) language plpgsql as $$
declare r2 bigint; s2 bigint; line text; mem text;
begin
	for cond in select unnest(array['a < 30', 'b between 100 and 400', 'a < 20 and b < 300', 'a = 5 or b = 7', 'a in (1, 2, 3) and c is not null', 'a >= 0']) loop
		set local enable_bitmapscan = off; set local enable_indexscan = off; set local enable_indexonlyscan = off;
		set local enable_seqscan = on;
		execute 'select count(*), sum(id) from bmp_t where ' || cond into rows, sum;
		set local enable_seqscan = off; set local enable_bitmapscan = on;
		same := true;
		foreach mem in array array['64kB', '4MB'] loop
			perform set_config('work_mem', mem, true);
			execute 'select count(*), sum(id) from bmp_t where ' || cond into r2, s2;
			same := same and r2 = rows and s2 is not distinct from sum;
			plan := '';
			for line in execute 'explain select count(*) from bmp_t where ' || cond loop plan := plan || line; end loop;
			plan := substring(plan, 'Bitmap Heap Scan');
		end loop;
		return next;
	end loop;
	set local enable_seqscan = on;
end $$;
select * from bmp_compare();
update bmp_t set c = 'changed' where id % 10 = 0;
update bmp_t set a = a + 1 where id % 11 = 0;
delete from bmp_t where id % 13 = 0;
select * from bmp_compare();
begin;
update bmp_t set a = 5 where id % 3 = 0;
delete from bmp_t where id % 5 = 0;
insert into bmp_t select g, g % 97, g % 1009, 'new' from generate_series(70001, 75000) g;
select * from bmp_compare();
savepoint s;
delete from bmp_t where a < 50;
update bmp_t set b = 7;
select * from bmp_compare();
rollback to s;
select * from bmp_compare();
rollback;
select * from bmp_compare();
vacuum bmp_t;
select * from bmp_compare();
-- pages that are really lossy
set enable_seqscan = off; set enable_indexscan = off; set work_mem = '64kB';
create function bmp_lossy() returns boolean language plpgsql as $$
declare line text; lossy boolean := false;
begin
	for line in explain (analyze, costs off, timing off, summary off) select * from bmp_t where b < 900 loop
		lossy := lossy or line ~ 'lossy=[1-9]';
	end loop;
	return lossy;
end $$;
select bmp_lossy();
-- an old snapshot's view through lossy pages while rows are changed after it
begin;
declare c cursor for select count(*), sum(id), count(*) filter (where c = 'late') as late from bmp_t where b < 900;
update bmp_t set c = 'late', b = b + 1;
delete from bmp_t where id % 2 = 0;
insert into bmp_t select g, 1, 1, 'late' from generate_series(80001, 81000) g;
fetch all c;
select count(*), sum(id), count(*) filter (where c = 'late') as late from bmp_t where b < 900;
rollback;
select count(*), sum(id), count(*) filter (where c = 'late') as late from bmp_t where b < 900;
-- few rows of each page, which are copied without the others where the snapshot sees them as they are
set work_mem = '4MB';
create view bmp_few as select count(*), sum(id), count(*) filter (where c = 'late') as late from bmp_t where b between 500 and 503;
explain (costs off) select * from bmp_few;
begin;
declare c cursor for select id, a, left(c, 5) as c from bmp_t where b between 500 and 503 order by id;
declare d cursor for select * from bmp_few;
update bmp_t set c = 'late' where id % 3 = 0;
update bmp_t set b = b + 1 where id % 7 = 0;
delete from bmp_t where id % 5 = 0;
insert into bmp_t select g, 1, 501, 'late' from generate_series(90001, 91000) g;
fetch 3 c;
fetch all d;
select * from bmp_few;
commit;
select * from bmp_few;
-- rows stay in a slot while the scan is at other pages
select count(*), sum(x.id - y.id) from bmp_t x join lateral (select id from bmp_t z where z.b = x.b and z.id > x.id offset 0) y on true where x.b between 500 and 503;
reset all;
drop view bmp_few;
drop table bmp_t;
drop function bmp_compare, bmp_lossy;
