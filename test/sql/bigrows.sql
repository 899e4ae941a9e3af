-- Rows up to the size of a page: inserted, read, grown to and shrunk from it; larger ones refused as on heap.
-- Searches for the largest row, so no size is written down here except the least that must fit.
-- fillfactor keeps no large row from a page that is nearly empty
create table big_f (id int, a text) using zheap with (fillfactor = 10);
alter table big_f alter a set storage plain;
insert into big_f values (1, null);
insert into big_f values (2, repeat('a', 1000));
insert into big_f values (3, repeat('a', 1000));
insert into big_f values (4, null);
insert into big_f values (5, repeat('a', 7000));
insert into big_f values (6, null);
insert into big_f select 7, repeat('a', 7800);
select id, (ctid::text::point)[0] as block from big_f order by id;
drop table big_f;

-- pages that should begin with many transaction slots, for rows that leave no room for them
set zheap.initial_slots = 31;
create table big_s (id int, a text) using zheap;
alter table big_s alter a set storage plain;
insert into big_s values (1, repeat('a', 8050));
copy big_s from program 'printf "2\t%07900d\n3\t%08050d\n4\t%07000d\n5\t%0300d\n" 0 0 0 0';
update big_s set a = repeat('c', 8050) where id < 4;
select count(*), sum(length(a)) from big_s;
reset zheap.initial_slots;
drop table big_s;

create function big_noise(seed int, len int) returns text language sql immutable as $$
	select left(string_agg(md5(seed || '/' || g), ''), len) from generate_series(1, len / 32 + 1) g
$$;
create table big_t (id int, a text, b text) using zheap;
alter table big_t alter a set storage plain, alter b set storage plain;
-- the largest row that fits, by bisection
create function big_limit(attempt text) returns int language plpgsql as $$
declare lo int := 10; hi int := 9000; mid int; code text; msg text;
begin
	while hi - lo > 1 loop
		mid := (lo + hi) / 2;
		begin
			execute attempt using mid;
			lo := mid;
		exception when program_limit_exceeded then
			get stacked diagnostics msg = message_text;
			if msg !~ '^row is too big: size \d+, maximum size \d+$' then
				raise notice '%', msg;
			end if;
			hi := mid;
		end;
	end loop;
	return lo;
end $$;
create table big_limits (what text, len int);
insert into big_limits values ('insert', big_limit('insert into big_t values (1, repeat(''a'', $1))'));
delete from big_t;
insert into big_t values (1, '');
insert into big_limits values ('update', big_limit('update big_t set a = repeat(''b'', $1)'));
insert into big_limits values ('two columns', big_limit('insert into big_t values (2, repeat(''a'', $1 - 100), repeat(''b'', 96))'));
select what, len > 8000 as ok from big_limits order by 1;
select max(len) - min(len) <= 8 as alike from big_limits;
truncate big_t;

-- full-page rows: one to a page, and another page for the slots that find no room; all of them there
insert into big_t select g, big_noise(g, len) from generate_series(1, 20) g, big_limits where what = 'insert';
select count(*), count(distinct md5(a)), min(length(a)) = max(length(a)) as same from big_t;
select pg_relation_size('big_t') / current_setting('block_size')::int as pages;
select count(*) as wrong from big_t where a <> big_noise(id, length(a));
-- emptied pages take them again, once no other session's snapshot can need their rows
create function big_alone() returns void language plpgsql as $$
begin
	for i in 1 .. 2000 loop
		perform pg_stat_clear_snapshot();
		exit when not exists (select from pg_stat_activity where pid <> pg_backend_pid() and backend_xmin is not null);
		perform pg_sleep(0.01);
	end loop;
end $$;
create table big_v (id int, a text) using zheap with (autovacuum_enabled = off);
alter table big_v alter a set storage plain;
insert into big_v select g, big_noise(g, len) from generate_series(1, 20) g, big_limits where what = 'insert';
delete from big_v where id < 20;
select big_alone();
vacuum big_v;
insert into big_v select g, big_noise(g, len) from generate_series(1, 15) g, big_limits where what = 'insert';
select count(*), pg_relation_size('big_v') / current_setting('block_size')::int as pages from big_v;
-- a page with nothing but an unused line pointer
truncate big_v;
insert into big_v select g, big_noise(g, len) from generate_series(1, 2) g, big_limits where what = 'insert';
delete from big_v;
select big_alone();
vacuum (truncate off) big_v;
insert into big_v select g, big_noise(g, len) from generate_series(1, 2) g, big_limits where what = 'insert';
select count(*), pg_relation_size('big_v') / current_setting('block_size')::int as pages from big_v;
drop table big_v;
-- same length in place; shorter and longer; back by rollback
begin;
update big_t set a = big_noise(id + 100, length(a));
select count(*) as wrong from big_t where a <> big_noise(id + 100, length(a));
update big_t set a = 'small' where id % 2 = 0;
insert into big_t select 1000 + g, big_noise(g, 3000) from generate_series(1, 30) g;
update big_t set a = big_noise(id, 5000) where id % 4 = 0 and id < 1000;
select count(*), sum(length(a)) - 10 * (select len from big_limits where what = 'insert') as sum from big_t;
rollback;
select count(*) as rows, count(*) filter (where a <> big_noise(id, length(a))) as wrong from big_t;
select min(length(a)) = (select len from big_limits where what = 'insert') as full_again from big_t;

-- small rows that grow until each needs a page of its own, all on one page at first
truncate big_t;
insert into big_t select g, '' from generate_series(1, 8) g;
do $$
begin
	for i in 1..8 loop
		update big_t set a = big_noise(id * 10 + i, i * 1000);
	end loop;
end $$;
select id, length(a), a = big_noise(id * 10 + 8, 8000) as ok from big_t order by id;
begin;
update big_t set a = '', b = big_noise(id, 7990);
update big_t set a = b, b = null;
select count(*) from big_t where a = big_noise(id, 7990);
rollback;
select count(*) from big_t where a = big_noise(id * 10 + 8, 8000);
delete from big_t where id % 2 = 0;
update big_t set a = 'x';
select * from big_t order by id;

-- too big: nothing remains of the attempt
\set VERBOSITY sqlstate
insert into big_t values (100, repeat('a', 8200));
insert into big_t values (100, repeat('a', 5000), repeat('b', 5000));
update big_t set b = repeat('b', 9000) where id = 1;
insert into big_t select g, repeat('c', g * 1000) from generate_series(1, 20) g;
\set VERBOSITY default
select * from big_t order by id;

-- main and external storage when there is no toast table's help to be had
create table big_main (id int, m text, e text) using zheap;
alter table big_main alter m set storage main, alter e set storage external;
insert into big_main select g, big_noise(g, 7900), null from generate_series(1, 3) g;
insert into big_main select 10 + g, big_noise(g, 7000), big_noise(g, 9000) from generate_series(1, 3) g;
insert into big_main select 20 + g, big_noise(g, 20000), big_noise(g, 100) from generate_series(1, 3) g;
update big_main set e = big_noise(id, 500) where id < 10;
update big_main set m = big_noise(id, 7500) where id between 20 and 30;
select id, length(m) as m, length(e) as e, md5(m || coalesce(e, '')) from big_main order by id;

-- columns without a toastable type
create table big_fixed (id int, n name, n2 name) using zheap;
do $$
begin
	for i in 3..110 loop execute format('alter table big_fixed add column n%s name', i); end loop;
end $$;
insert into big_fixed values (1, 'first', 'second');
do $$
begin
	execute 'insert into big_fixed values (2' || (select string_agg(format(', %L', 'name ' || g), '') from generate_series(1, 110) g) || ')';
end $$;
update big_fixed set n110 = n, n = n110;
select id, n, n2, n109, n110, md5(f::text) from big_fixed f order by id;

drop table big_t, big_limits, big_main, big_fixed;
drop function big_noise, big_limit, big_alone;
