-- Space and TIDs of deleted and rolled-back rows come back through VACUUM; no row appears or vanishes with them.
-- Delete, vacuum and insert by turns, with indexes; the size must settle.
create table reu_t (id int primary key, grp int, body text) using zheap;
create index reu_grp on reu_t (grp);
create function reu_check() returns table (seq bigint, idx bigint, grp bigint, sum bigint) language plpgsql as $$
begin
	set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off;
	select count(*), sum(t.id) from reu_t t into seq, sum;
	set local enable_indexscan = on; set local enable_seqscan = off;
	select count(body) from reu_t t where t.id between -1000000 and 1000000 into idx;
	select count(body) from reu_t t where t.grp between 0 and 1000 into grp;
	return next;
end $$;
insert into reu_t select g, g % 10, repeat('r', 60) from generate_series(1, 3000) g;
select * from reu_check();
delete from reu_t where id % 3 = 0;
select * from reu_check();
vacuum reu_t;
select * from reu_check();
insert into reu_t select g, g % 10, repeat('n', 60) from generate_series(10001, 11000) g;
select * from reu_check();
-- everything
delete from reu_t;
select * from reu_check();
vacuum reu_t;
select * from reu_check();
insert into reu_t select g, g % 10, repeat('s', 60) from generate_series(1, 3000) g;
select * from reu_check();
vacuum reu_t;

-- many rounds: a queue that stays short
do $$
begin
	for i in 1..20 loop
		delete from reu_t where id <= (select min(id) + 999 from reu_t);
		insert into reu_t select g, g % 10, repeat('q', 60) from generate_series(2001 + i * 1000, 3000 + i * 1000) g;
		commit;
	end loop;
end $$;
select * from reu_check();
vacuum reu_t;
create temp table reu_size as select pg_relation_size('reu_t') as t;
do $$
begin
	for i in 21..30 loop
		delete from reu_t where id <= (select min(id) + 999 from reu_t);
		insert into reu_t select g, g % 10, repeat('q', 60) from generate_series(2001 + i * 1000, 3000 + i * 1000) g;
		commit;
	end loop;
end $$;
select pg_relation_size('reu_t') > t as grown from reu_size;
vacuum reu_t;
select * from reu_check();

-- inserts that were rolled back: their index entries find nothing, whatever takes the space
begin;
insert into reu_t select g, 77, 'aborted' from generate_series(100001, 103000) g;
rollback;
select * from reu_check();
select count(body) from reu_t where grp = 77;
insert into reu_t select g, 78, 'committed' from generate_series(200001, 201000) g;
set enable_seqscan = off;
select count(body) from reu_t where grp = 77;
select count(body), min(body) from reu_t where grp = 78;
select count(body) from reu_t where id between 100001 and 103000;
vacuum reu_t;
insert into reu_t select g, 79, 'after vacuum' from generate_series(300001, 302000) g;
select count(body) from reu_t where grp = 77;
select count(body), min(body) from reu_t where grp = 79;
reset enable_seqscan;
select * from reu_check();
-- the same keys once more
insert into reu_t select g, 77, 'committed now' from generate_series(100001, 100100) g;
select count(body) from reu_t where grp = 77;

-- deletes that were rolled back stay, even after vacuum
begin;
delete from reu_t where grp >= 77;
rollback;
vacuum reu_t;
select grp, count(*) from reu_t where grp >= 77 group by 1 order by 1;
begin;
delete from reu_t where grp = 78;
savepoint s;
delete from reu_t where grp = 79;
rollback to s;
commit;
vacuum reu_t;
select grp, count(*) from reu_t where grp >= 77 group by 1 order by 1;
select * from reu_check();
drop table reu_t;
drop table reu_size;

-- an index scan that meets rolled-back insertions lets their entries be reused, even those of our own savepoints
create table reu_i (key int, body text) using zheap with (autovacuum_enabled = off);
create index reu_i_key on reu_i (key);
insert into reu_i values (-1, 'the first page');
create temp table reu_size as select pg_relation_size('reu_i_key') as i;
create procedure reu_rounds(top bool) language plpgsql as $$
begin
	set local enable_seqscan = off; set local enable_bitmapscan = off;
	for i in 1..60 loop
		begin
			if exists (select body from reu_i where key > 0) then
				raise exception 'rolled-back rows are visible';
			end if;
			insert into reu_i select g, 'rolled back' from generate_series(1, 100) g;
			if not top then
				raise division_by_zero;
			end if;
		exception when division_by_zero then null;
		end;
		if top then
			rollback;
			set local enable_seqscan = off; set local enable_bitmapscan = off;
		end if;
	end loop;
end $$;
call reu_rounds(false);
select pg_relation_size('reu_i_key') > i as grown from reu_size;
call reu_rounds(true);
select pg_relation_size('reu_i_key') > i as grown from reu_size;
drop procedure reu_rounds;
drop table reu_i, reu_size;
drop function reu_check;
