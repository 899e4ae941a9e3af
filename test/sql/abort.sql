-- After a rollback the rows are as before at once, for readers and for writers of the same rows and pages.
-- Every kind of change is rolled back and followed at once by reads or by each kind of write.
create table abo_t (id int primary key, n int, v text) using zheap;
create index abo_n on abo_t (n);
insert into abo_t select g, g, repeat('v', 30) || g from generate_series(1, 500) g;
create temp table abo_copy as table abo_t;
-- rows that differ from the copy, by a scan and by each index
create function abo_wrong() returns table (scan bigint, pkey bigint, n bigint) language plpgsql as $$
begin
	set local enable_seqscan = on; set local enable_indexscan = off; set local enable_bitmapscan = off;
	select count(*) from abo_t t full join abo_copy c using (id) where (t.n, t.v) is distinct from (c.n, c.v) into scan;
	set local enable_seqscan = off; set local enable_indexscan = on;
	select count(*) from (select * from abo_t where id between -1000 and 100000 offset 0) t full join abo_copy c using (id)
	 where (t.n, t.v) is distinct from (c.n, c.v) into pkey;
	select count(*) - (select count(*) from abo_copy) from (select v from abo_t t where t.n between -1000000 and 1000000) s into n;
	return next;
end $$;
select * from abo_wrong();
begin; update abo_t set v = 'in place'; rollback;
select * from abo_wrong();
begin; update abo_t set v = v || repeat('longer', 20); rollback;
select * from abo_wrong();
begin; update abo_t set n = -n; rollback;
select * from abo_wrong();
begin; delete from abo_t; rollback;
select * from abo_wrong();
begin; insert into abo_t select g, g, 'rolled back' from generate_series(501, 1000) g; rollback;
select * from abo_wrong();
begin; update abo_t set v = ''; delete from abo_t where id % 2 = 0; update abo_t set n = 0; insert into abo_t values (2, 2, 'x'); rollback;
select * from abo_wrong();
begin; truncate abo_t; insert into abo_t values (1, 1, 'x'); rollback;
select * from abo_wrong();

-- rollback, then write to the same rows: each first kind against each second kind
do $$
declare
	firsts text[] := array['update abo_t set v = ''first'' where id between 100 and 109',
		'update abo_t set v = repeat(''first'', 60) where id between 100 and 109',
		'update abo_t set n = n + 5000 where id between 100 and 109',
		'delete from abo_t where id between 100 and 109',
		'insert into abo_t select g, g, ''first'' from generate_series(501, 510) g'];
	seconds text[] := array['update abo_t set v = ''second '' || id where id between 100 and 109',
		'update abo_t set v = repeat(''second'', 20) || id where id between 105 and 114',
		'update abo_t set n = n + 1 where id between 100 and 109',
		'delete from abo_t where id between 108 and 109',
		'insert into abo_t select g, g, ''second'' from generate_series(501, 505) g'];
	f text; s text; bad bigint;
begin
	foreach f in array firsts loop
		foreach s in array seconds loop
			execute f;
			rollback;
			execute s;
			commit;
			execute replace(s, 'abo_t', 'abo_copy');
			commit;
			select a.scan + abs(a.pkey) + abs(a.n) from abo_wrong() a into bad;
			if bad <> 0 then
				raise notice '% wrong after "%", rollback, "%"', bad, f, s;
			end if;
			-- undo it all for the next round
			delete from abo_t; insert into abo_t select g, g, repeat('v', 30) || g from generate_series(1, 500) g;
			delete from abo_copy; insert into abo_copy select g, g, repeat('v', 30) || g from generate_series(1, 500) g;
			commit;
		end loop;
	end loop;
end $$;
select * from abo_wrong();

-- many rollbacks in a row without a read, then a commit
do $$
begin
	for i in 1..100 loop
		update abo_t set v = 'round ' || i, n = n where id % 10 = i % 10;
		insert into abo_t values (1000 + i, i, 'round');
		delete from abo_t where id = i;
		rollback;
	end loop;
end $$;
select * from abo_wrong();
update abo_t set v = 'committed' where id % 10 = 3;
update abo_copy set v = 'committed' where id % 10 = 3;
select * from abo_wrong();
-- by turns
do $$
begin
	for i in 1..200 loop
		update abo_t set n = n + i where id between i and i + 20;
		if i % 2 = 0 then
			rollback;
		else
			update abo_copy set n = n + i where id between i and i + 20;
			commit;
		end if;
	end loop;
end $$;
select * from abo_wrong();
-- unique keys of rolled-back rows, over and over
do $$
begin
	for i in 1..50 loop
		insert into abo_t select g, g, 'again' from generate_series(600, 620) g;
		rollback;
	end loop;
end $$;
insert into abo_t select g, g, 'at last' from generate_series(600, 620) g;
insert into abo_copy select g, g, 'at last' from generate_series(600, 620) g;
select * from abo_wrong();
insert into abo_t values (610, 0, 'duplicate');
-- errors in the middle of a statement
update abo_t set v = 'x', n = 1 / (id - 400);
insert into abo_t select g, 1 / (g - 700), 'x' from generate_series(650, 750) g;
\set VERBOSITY terse
update abo_t set id = id + 1 where id < 100;
\set VERBOSITY default
delete from abo_t where 1 / (id - 300) >= 0;
select * from abo_wrong();
-- a failed transaction
begin;
update abo_t set v = 'failed';
delete from abo_t where id < 50;
select 1 / 0;
update abo_t set v = 'ignored';
commit;
select * from abo_wrong();
vacuum abo_t;
select * from abo_wrong();
-- repeatable read across a rollback
begin isolation level repeatable read;
select count(*), sum(n) from abo_t;
savepoint s;
update abo_t set n = 0;
delete from abo_t where id % 2 = 0;
rollback to s;
select count(*), sum(n) from abo_t;
update abo_t set n = n + 1 where id = 1;
rollback;
select * from abo_wrong();
-- a table made and filled in the rolled-back transaction
begin;
create table abo_new (a int) using zheap;
insert into abo_new select generate_series(1, 1000);
update abo_new set a = -a;
rollback;
create table abo_new (a int) using zheap;
insert into abo_new values (1);
select * from abo_new;
begin;
update abo_new set a = 2;
drop table abo_new;
rollback;
select * from abo_new;
drop table abo_t, abo_copy, abo_new;
drop function abo_wrong;
