-- COPY in and out: many rows at a time, failures halfway, into partitions, with triggers and defaults.
-- Data goes through inline text and through a program's pipe; counts and hashes are compared.
create table copy_t (id int primary key, a text default 'dflt', b numeric, c date) using zheap;
copy copy_t from stdin;
1	one	1.5	2001-01-01
2	\N	\N	\N
3	three\twith tab	-3	2003-03-03
\.
copy copy_t (id, b) from stdin with (format csv, header);
id,b
4,4.4
5,
\.
copy copy_t from stdin with (format csv, null 'none') where id > 6;
6,filtered,0,none
7,"quoted ""text""",7,2007-07-07
\.
copy (select * from copy_t order by id) to stdout;
copy (select id, a from copy_t order by id) to stdout with (format csv, header, force_quote *);
copy (delete from copy_t where id = 7 returning *) to stdout;

-- a failure in the first, in the last row, and a duplicate key: nothing stays
copy copy_t from stdin;
eight	a	1	2001-01-01
\.
copy copy_t from stdin;
8	a	1	2001-01-01
9	b	x	2001-01-01
\.
copy copy_t from stdin;
8	a	1	2001-01-01
9	b	1	2001-01-01
1	dup	1	2001-01-01
\.
select count(*), sum(id) from copy_t;
copy copy_t from stdin;
8	again	1	2001-01-01
9	again	1	2001-01-01
\.
select id, a from copy_t where id > 7 order by id;

-- tens of thousands of rows by one COPY, and the same rolled back
create function copy_lines(lo int, hi int) returns text language sql as $$
	select format('copy copy_big from program %L', format('seq %s %s', lo, hi))
$$;
create table copy_big (id int, twice int generated always as (id * 2) stored, note text default 'n') using zheap;
do $$ begin execute replace(copy_lines(1, 50000), 'copy_big', 'copy_big (id)'); end $$;
select count(*), sum(id), sum(twice), count(note) from copy_big;
begin;
do $$ begin execute replace(copy_lines(50001, 100000), 'copy_big', 'copy_big (id)'); end $$;
update copy_big set note = 'changed' where id % 1000 = 0;
select count(*), sum(id), count(*) filter (where note = 'changed') from copy_big;
rollback;
select count(*), sum(id), count(*) filter (where note = 'changed') from copy_big;
begin;
savepoint s;
do $$ begin execute replace(copy_lines(1, 10000), 'copy_big', 'copy_big (id)'); end $$;
rollback to s;
do $$ begin execute replace(copy_lines(50001, 60000), 'copy_big', 'copy_big (id)'); end $$;
commit;
select count(*), sum(id), count(distinct id) from copy_big;
-- into a table made in the same transaction, and truncated in it
begin;
create table copy_new (id int, s text) using zheap;
do $$ begin execute replace(copy_lines(1, 20000), 'copy_big', 'copy_new (id)'); end $$;
update copy_new set s = 'new' where id <= 10000;
commit;
select count(*), count(s), sum(id) from copy_new;
begin;
truncate copy_new;
copy copy_new from stdin with (freeze);
1	frozen
2	frozen
\.
select * from copy_new order by id;
commit;
select * from copy_new order by id;
update copy_new set s = 'thawed' where id = 1;
select * from copy_new order by id;
-- rows that triggers will ask for are not frozen: a deferred one is told of the row as it was copied
create table copy_pk (id int primary key) using zheap;
create table copy_fk (id int, ref int references copy_pk deferrable initially deferred, pad text) using zheap;
create function copy_told() returns trigger language plpgsql as $$ begin raise notice '% % %', tg_op, new.id, left(new.pad, 4); return null; end $$;
create constraint trigger told after insert on copy_fk deferrable initially deferred for each row when (new.id <= 2) execute function copy_told();
insert into copy_pk values (1);
begin;
truncate copy_fk;
copy copy_fk from stdin with (freeze);
1	1	was
2	1	was
\.
update copy_fk set pad = 'new' where id = 1;
commit;
begin;
truncate copy_fk;
copy copy_fk from stdin with (freeze);
1	999	was
2	1	was
\.
insert into copy_fk select g, 1, 'more' from generate_series(3, 1000) g;
update copy_fk set pad = repeat('y', 1500) where id = 1;
commit;
select count(*), max(ref) from copy_fk;
drop table copy_fk, copy_pk;
create table copy_idx (id int, note text) using zheap;
create index on copy_idx (id);
do $$ begin execute replace(copy_lines(1, 20000), 'copy_big', 'copy_idx (id)'); end $$;
set enable_seqscan = off;
select count(*), sum(id) from copy_idx where id between 1 and 30000;
select * from copy_idx where id in (1, 9999, 20000) order by id;
reset enable_seqscan;

-- wide rows, rows with values out of line, binary format there and back
create table copy_wide (id int, t text, u text) using zheap;
insert into copy_wide select g, repeat(md5(g::text), g * 20), repeat(md5(g::text), 60) from generate_series(1, 40) g;
create table copy_back (like copy_wide) using zheap;
\set path `mktemp`
copy copy_wide to :'path' with (format binary);
copy copy_back from :'path' with (format binary);
select count(*) from copy_wide w join copy_back b using (id) where w = b;
copy copy_wide to :'path';
truncate copy_back;
copy copy_back from :'path';
select count(*) from copy_wide w join copy_back b using (id) where w = b;
\setenv path :path
\! rm -f "$path"

-- partitions and triggers
create table copy_p (id int, k int) partition by list (k);
create table copy_p0 partition of copy_p for values in (0) using zheap;
create table copy_p1 partition of copy_p for values in (1) using zheap;
create table copy_p2 partition of copy_p for values in (2) using heap;
copy copy_p from program 'for i in $(seq 1 3000); do echo "$i	$((i % 3))"; done';
select tableoid::regclass as part, count(*), sum(id) from copy_p group by 1 order by 1;
copy copy_p from stdin;
1	0
2	9
\.
select count(*) from copy_p;
create function copy_trig() returns trigger language plpgsql as
	$$ begin if new.id % 2 = 0 then return null; end if; new.id := -new.id; return new; end $$;
create trigger copy_b before insert on copy_p1 for each row execute function copy_trig();
copy copy_p from program 'for i in $(seq 1 9); do echo "$i	$((i % 3))"; done';
select id from copy_p1 where id < 0 order by id;
drop table copy_t, copy_big, copy_new, copy_idx, copy_wide, copy_back, copy_p;
drop function copy_lines, copy_trig;
