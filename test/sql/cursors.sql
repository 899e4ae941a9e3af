-- Cursors forward, backward, scrollable and held; none sees what its transaction does after it was opened.
-- Rows change in every way between two fetches of the same cursor.
create table cur_t (id int primary key, n int, body text) using zheap;
insert into cur_t select g, g, 'body ' || g from generate_series(1, 2000) g;
begin;
declare c scroll cursor for select id, n from cur_t;
fetch 3 c;
fetch backward 2 c;
fetch absolute 1000 c;
fetch relative -5 c;
fetch last c;
fetch first c;
fetch absolute -1 c;
move backward 10 c;
fetch 2 c;
move absolute 0 c;
fetch backward c;
fetch c;
move forward all c;
fetch c;
fetch backward 2 c;
move backward all c;
fetch 2 c;
close c;
-- no scroll
declare d no scroll cursor for select id from cur_t order by id;
fetch 2 d;
savepoint s;
fetch backward d;
rollback to s;
commit;

-- a cursor and its own transaction's later changes
begin;
declare c cursor for select count(*), sum(n), max(body) from cur_t;
declare r scroll cursor for select id, n, body from cur_t where id in (1, 2, 3, 1999, 2000, 2001);
declare i scroll cursor for select id, n, body from cur_t where id between 5 and 8 order by id;
fetch 1 r;
fetch 1 i;
update cur_t set n = n + 1000000;
update cur_t set n = 0, body = 'changed twice' where id < 5;
delete from cur_t where id in (2, 7, 2000);
insert into cur_t values (2001, 1, 'inserted'), (2, 2, 'inserted anew');
fetch c;
fetch 10 r;
fetch 10 i;
fetch backward 10 r;
fetch backward 10 i;
declare now cursor for select id, n, body from cur_t where id in (1, 2, 3, 7, 1999, 2000, 2001) order by id;
fetch all now;
rollback;
-- and through savepoints
begin;
declare a scroll cursor for select id, n, body from cur_t where id <= 4;
savepoint s1;
update cur_t set n = -1 where id <= 2;
declare b scroll cursor for select id, n, body from cur_t where id <= 4 order by id;
savepoint s2;
delete from cur_t where id = 1;
update cur_t set n = -2, body = 'in s2' where id = 3;
declare c scroll cursor for select id, n, body from cur_t where id <= 4 order by id;
fetch 2 a; fetch 2 b; fetch 2 c;
update cur_t set n = -3;
fetch all a; fetch all b; fetch all c;
rollback to s2;
fetch backward all a; fetch backward all b;
update cur_t set n = -4 where id = 4;
fetch all a; fetch all b;
select id, n, body from cur_t where id <= 4 order by id;
rollback to s1;
fetch backward all a;
select id, n, body from cur_t where id <= 4 order by id;
rollback;

-- held over the end of the transaction, and over changes and VACUUM after it
begin;
declare h scroll cursor with hold for select id, n from cur_t where id <= 5 order by id;
declare h2 cursor with hold for select count(*), sum(n) from cur_t;
update cur_t set n = 5;
fetch 2 h;
commit;
update cur_t set n = 6;
delete from cur_t where id <= 3;
vacuum cur_t;
fetch all h;
fetch backward all h;
fetch h2;
close h; close h2;
begin;
declare h cursor with hold for select id, n from cur_t where id <= 6 order by id;
savepoint s;
update cur_t set n = 7;
rollback to s;
commit;
fetch all h;
close all;

-- update and delete at a cursor's position
insert into cur_t select g, g, 'new ' || g from generate_series(1, 3) g;
update cur_t set n = id;
set enable_seqscan = off; set enable_bitmapscan = off;
begin;
declare w cursor for select id, n from cur_t where id <= 6;
fetch w;
update cur_t set n = n * 10 where current of w returning n = id * 10 as ok;
fetch 2 w;
delete from cur_t where current of w;
update cur_t set n = 0 where current of w;
commit;
reset all;
select count(*), count(*) filter (where n = id * 10) as changed from cur_t where id <= 6;

-- plpgsql: loops over a query whose rows change in the loop
do $$
declare r record; steps int := 0; wrong int := 0;
begin
	for r in select * from cur_t order by id loop
		update cur_t set n = n + 1, body = 'loop' where id = r.id;
		update cur_t set n = n + 1 where id = r.id + 1;
		delete from cur_t where id = r.id + 2 and r.id % 10 = 0;
		steps := steps + 1;
		wrong := wrong + (r.body = 'loop')::int;
	end loop;
	raise notice '% steps, % wrong', steps, wrong;
end $$;
select count(*), sum(n) - sum(id) as added from cur_t where id > 6;
do $$
declare c scroll cursor for select id, n from cur_t where id between 100 and 110 order by id; a int; b int;
begin
	open c;
	fetch last from c into a, b;
	update cur_t set n = -1 where id between 100 and 110;
	fetch prior from c into a, b;
	raise notice '% %', a, b > 0;
	fetch first from c into a, b;
	raise notice '% %', a, b > 0;
	move last in c;
	update cur_t set n = -2 where current of c;
	close c;
end $$;
select id, n from cur_t where id between 108 and 110 order by id;
-- commit within the loop
do $$
declare r record; n int := 0;
begin
	for r in select id from cur_t where id > 1900 order by id loop
		update cur_t set body = 'committed' where id = r.id;
		n := n + 1;
		if n % 2 = 0 then commit; else rollback; end if;
	end loop;
	raise notice '%', n;
end $$;
select count(*) from cur_t where body = 'committed';
drop table cur_t;
