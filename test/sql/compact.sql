-- Rows of one page change their length all the time: the page is compacted, rows keep content and TID.
-- A pseudo-random storm on one page, checked against an array of what each row must hold.
create function cpt_noise(seed int, len int) returns text language sql immutable as $$
	select left(string_agg(md5(seed || '/' || g), ''), len) from generate_series(1, len / 32 + 1) g
$$;
create table cpt_t (id int, len int, seed int, body text) using zheap;
alter table cpt_t alter body set storage plain;
insert into cpt_t select g, 50, g, cpt_noise(g, 50) from generate_series(1, 40) g;
select count(distinct (ctid::text::point)[0]) as pages from cpt_t;
create function cpt_wrong() returns bigint language sql as
	'select count(*) from cpt_t where body is distinct from cpt_noise(seed, len) or length(body) <> len';
create function cpt_storm(rounds int, start int, maxlen int, rollbacks bool) returns void language plpgsql as $$
declare
	x bigint := start;
	target int;
	newlen int;
begin
	for i in 1..rounds loop
		x := (x * 1103515245 + 12345) % 2147483648;
		target := (x / 65536) % 40 + 1;
		newlen := (x / 1024) % maxlen;
		begin
			update cpt_t set len = newlen, seed = i, body = cpt_noise(i, newlen) where id = target;
			if rollbacks and x % 3 = 0 then
				update cpt_t set body = repeat('doomed', newlen % 20), len = -1 where id in (target, target % 40 + 1);
				raise exception 'undo this';
			end if;
		exception when raise_exception then
			null;
		end;
	end loop;
end $$;
-- total stays within a page
select cpt_storm(1500, 1, 130, false);
select cpt_wrong(), count(*), count(distinct id) from cpt_t;
select cpt_storm(1500, 2, 130, true);
select cpt_wrong(), count(*), count(distinct id) from cpt_t;
-- each in a transaction of its own
do $$
begin
	for i in 1..300 loop
		perform cpt_storm(3, i, 130, i % 2 = 0);
		if i % 5 = 0 then rollback; else commit; end if;
	end loop;
end $$;
select cpt_wrong(), count(*), count(distinct id) from cpt_t;
select pg_relation_size('cpt_t') <= 2 * current_setting('block_size')::int as small;

-- all shrink, all grow by turns; a page of rows at its limit
update cpt_t set len = 0, body = '';
do $$
begin
	for i in 1..100 loop
		update cpt_t set len = (i * 7) % 150, seed = i, body = cpt_noise(i, (i * 7) % 150);
		if i % 4 = 0 then rollback; else commit; end if;
	end loop;
end $$;
select cpt_wrong(), count(*), count(distinct id), min(len), max(seed) from cpt_t;
-- one shrinks, another takes its space, and each order of rollback
update cpt_t set len = 140, body = cpt_noise(seed, 140);
begin;
update cpt_t set len = 0, body = '' where id <= 20;
update cpt_t set len = 200, body = cpt_noise(seed, 200) where id > 30;
select cpt_wrong(), count(*), sum(len) from cpt_t;
rollback;
select cpt_wrong(), count(*), sum(len) from cpt_t;
begin;
update cpt_t set len = 0, body = '' where id <= 20;
savepoint s;
update cpt_t set len = 220, body = cpt_noise(seed, 220) where id > 30;
rollback to s;
update cpt_t set len = 180, body = cpt_noise(seed, 180) where id between 25 and 30;
select cpt_wrong(), count(*), sum(len) from cpt_t;
commit;
select cpt_wrong(), count(*), sum(len) from cpt_t;
begin;
savepoint s;
update cpt_t set len = 1, body = cpt_noise(seed, 1);
rollback to s;
insert into cpt_t select g, 140, g, cpt_noise(g, 140) from generate_series(101, 120) g;
select cpt_wrong(), count(*), sum(len) from cpt_t;
rollback;
select cpt_wrong(), count(*), sum(len) from cpt_t;
-- deletes make room after commit, not before
begin;
delete from cpt_t where id % 2 = 0;
insert into cpt_t select g, 140, g, cpt_noise(g, 140) from generate_series(201, 220) g;
rollback;
select cpt_wrong(), count(*), sum(len) from cpt_t;
delete from cpt_t where id % 2 = 0;
insert into cpt_t select g, 140, g, cpt_noise(g, 140) from generate_series(201, 220) g;
update cpt_t set len = 141, body = cpt_noise(seed, 141);
select cpt_wrong(), count(*), sum(len) from cpt_t;

-- with an index, through which every row is found
create index cpt_id on cpt_t (id);
select cpt_storm(500, 5, 130, true);
set enable_seqscan = off; set enable_bitmapscan = off;
select count(*) as wrong from cpt_t where id between 1 and 300 and body is distinct from cpt_noise(seed, len);
select count(*) from cpt_t where id between 1 and 300;
reset all;
select cpt_wrong(), count(*), count(distinct id) from cpt_t;
drop table cpt_t;
drop function cpt_noise, cpt_wrong, cpt_storm;
