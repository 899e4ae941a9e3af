-- A statement never meets its own changes; each later command, and each volatile function, meets all before it.
-- Updates through the index that they change, inserts from the table itself, functions and triggers inside.
create table hal_t (id int primary key, n int, v text) using zheap;
create index hal_n on hal_t (n);
insert into hal_t select g, g, 'v' from generate_series(1, 1000) g;
-- pay rises through the index on pay: everybody once
set enable_seqscan = off; set enable_bitmapscan = off;
update hal_t set n = n + 1 where n > 0;
select sum(n) - sum(id) as once, min(n), max(n) from hal_t;
update hal_t set n = n + 10 where n < 500;
select count(*) filter (where n = id + 11) as rise, count(*) filter (where n = id + 1) as none from hal_t;
update hal_t set n = -n where n between 0 and 100000;
update hal_t set id = id + 10000 where id > 0;
select count(*), min(id), max(id), max(n) from hal_t;
reset all;
set enable_indexscan = off; set enable_bitmapscan = off;
update hal_t set n = abs(n) + 1;
update hal_t set v = v || 'v';
update hal_t set v = repeat(v, 50) where id % 10 = 0;
select count(*), sum(n), max(length(v)), sum(length(v)) from hal_t;
reset all;
set enable_seqscan = off; set enable_indexscan = off;
update hal_t set n = n + 1 where n > 0;
delete from hal_t where n > 0 and id % 2 = 0;
select count(*), sum(n) from hal_t;
reset all;
-- into itself
insert into hal_t select id + 100000, n, v from hal_t;
insert into hal_t select id + 200000, n, v from hal_t where id > 100000;
select count(*), count(distinct id) from hal_t;
begin;
insert into hal_t select -id, n, 'in block' from hal_t;
insert into hal_t select id - 1000000, n, 'in block' from hal_t where v = 'in block';
update hal_t set n = n + 1 where v = 'in block';
select count(*), count(*) filter (where v = 'in block') from hal_t;
rollback;
truncate hal_t;
insert into hal_t values (1, 1, 'a');
insert into hal_t select id + (select max(id) from hal_t), n, v from hal_t;
insert into hal_t select id + (select max(id) from hal_t), n, v from hal_t;
insert into hal_t select id + (select max(id) from hal_t), n, v from hal_t;
select count(*) from hal_t;

-- the statement's snapshot in its subqueries, functions of each volatility
update hal_t set n = (select sum(n) from hal_t) + id;
select * from hal_t order by id;
update hal_t t set n = (select count(*) from hal_t o where o.n >= t.n);
select id, n from hal_t order by id;
create function hal_stable() returns bigint stable language sql as 'select count(*) from hal_t where v = ''seen''';
create function hal_volatile() returns bigint volatile language sql as 'select count(*) from hal_t where v = ''seen''';
update hal_t set v = 'seen', n = hal_stable();
select sum(n) from hal_t;
update hal_t set v = 'a';
update hal_t set v = 'seen', n = hal_volatile();
select sum(n) from hal_t;
insert into hal_t select g, hal_volatile(), 'seen' from generate_series(101, 105) g;
select id, n from hal_t where id > 100 order by id;
insert into hal_t select g, hal_stable(), 'seen' from generate_series(111, 115) g;
select id, n from hal_t where id > 110 order by id;
-- a function that changes the same table under the statement
create function hal_other(int) returns int language plpgsql as $$
begin
	update hal_t set n = n + 1000 where id = $1;
	insert into hal_t values ($1 + 1000, 0, 'by function') on conflict do nothing;
	return $1;
end $$;
select id, n, hal_other(id) from hal_t where id <= 3 order by id;
select id, n, v from hal_t where id <= 3 or id > 1000 order by id;
create function hal_self(int) returns int language plpgsql as $$
begin
	update hal_t set n = 0 where id = $1;
	return 7;
end $$;
update hal_t set n = hal_self(id) where id = 1;
delete from hal_t where id = 2 and hal_self(id) = 7;
select id, n from hal_t where id <= 2 order by id;

-- BEFORE triggers that change the row being changed, or its neighbour
create function hal_trig() returns trigger language plpgsql as $$
begin
	if tg_argv[0] = 'self' then
		update hal_t set n = n + 5 where id = old.id and n < 100000;
	else
		update hal_t set n = n + 1 where id = old.id + 1;
	end if;
	return coalesce(new, old);
end $$;
truncate hal_t;
insert into hal_t select g, g, 'v' from generate_series(1, 6) g;
create trigger hal_b before update of v or delete on hal_t for each row execute function hal_trig('self');
update hal_t set v = 'x' where id = 1;
delete from hal_t where id = 1;
update hal_t set v = 'x', n = n where id = 1;
table hal_t order by id;
drop trigger hal_b on hal_t;
create trigger hal_b before update of v on hal_t for each row execute function hal_trig('next');
update hal_t set v = 'y' where id = 1;
update hal_t set v = 'z' where id in (2, 4);
table hal_t order by id;
drop trigger hal_b on hal_t;

-- command ids: many commands in one transaction, each seeing the ones before
begin;
delete from hal_t;
do $$
begin
	for i in 1..500 loop
		insert into hal_t values (i, (select count(*) from hal_t), 'cid');
		update hal_t set n = n + 1 where id = i / 2;
		delete from hal_t where id = i - 10 and i % 7 = 0;
	end loop;
end $$;
select count(*), sum(id), sum(n) from hal_t;
commit;
select count(*), sum(id), sum(n) from hal_t;
-- rules: the statement becomes several
create table hal_log (id int, n int) using zheap;
create rule hal_r as on update to hal_t do also insert into hal_log values (new.id, new.n);
update hal_t set n = n + 1 where id <= 20;
select count(*), sum(l.n) - sum(t.n) as diff from hal_log l join hal_t t using (id);
drop table hal_t, hal_log;
drop function hal_stable, hal_volatile, hal_other, hal_self, hal_trig;
