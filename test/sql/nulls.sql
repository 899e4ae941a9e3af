-- Nulls in every position, and updates that turn values into nulls and back.
-- All 512 null patterns of nine columns of different kinds; hashes per group of rows.
create table nulls_t (
	id int, a int2, b text, c bool, d int8, e varchar, f "char", g numeric, h name, i float8
) using zheap;
create function nulls_row(id int, pattern int) returns nulls_t language sql as $$
	select row(id,
		case when pattern & 1 = 0 then id::int2 end, case when pattern & 2 = 0 then 'b' || id end,
		case when pattern & 4 = 0 then id % 2 = 0 end, case when pattern & 8 = 0 then id::int8 << 33 end,
		case when pattern & 16 = 0 then repeat('e', id % 150) end, case when pattern & 32 = 0 then 'f'::"char" end,
		case when pattern & 64 = 0 then id / 7.0 end, case when pattern & 128 = 0 then ('h' || id)::name end,
		case when pattern & 256 = 0 then id::float8 end)::nulls_t
$$;
create view nulls_digest as
	select id / 64 as part, count(*) as rows, count(a) as a, count(b) as b, count(c) as c, count(d) as d, count(e) as e,
		count(f) as f, count(g) as g, count(h) as h, count(i) as i, md5(string_agg(t::text, ';' order by id)) as digest
	  from nulls_t t group by 1;
insert into nulls_t select (nulls_row(p, p)).* from generate_series(0, 511) p;
table nulls_digest order by 1;
select count(*) as wrong from nulls_t t where t is distinct from nulls_row(id, id);

-- each row to the opposite pattern, a shifted one, and back
update nulls_t t set (a, b, c, d, e, f, g, h, i) =
	(select n.a, n.b, n.c, n.d, n.e, n.f, n.g, n.h, n.i from nulls_row(t.id, 511 - t.id) n);
table nulls_digest order by 1;
select count(*) as wrong from nulls_t t where t is distinct from nulls_row(id, 511 - id);
begin;
update nulls_t t set (a, b, c, d, e, f, g, h, i) =
	(select n.a, n.b, n.c, n.d, n.e, n.f, n.g, n.h, n.i from nulls_row(t.id, (t.id * 37) % 512) n);
select count(*) as wrong from nulls_t t where t is distinct from nulls_row(id, (id * 37) % 512);
rollback;
select count(*) as wrong from nulls_t t where t is distinct from nulls_row(id, 511 - id);

-- one column at a time
update nulls_t set a = null where a is not null;
update nulls_t set i = 0 where i is null;
update nulls_t set e = null;
update nulls_t set e = 'e' where id % 2 = 0;
table nulls_digest order by 1;

-- nothing but nulls, a null first, a null last, a long run of them
update nulls_t set (a, b, c, d, e, f, g, h, i) = (null, null, null, null, null, null, null, null, null);
table nulls_digest order by 1;
update nulls_t set id = null;
select count(*), count(t.*) from nulls_t t where t is null;
insert into nulls_t (i) values (1), (2), (null);
select * from nulls_t where i is not null order by i;
delete from nulls_t t where t is null;
delete from nulls_t where i is null;
select count(*) from nulls_t;
drop view nulls_digest;
drop table nulls_t cascade;

-- many columns: bitmaps longer than one byte, with the only value at each end
do $$
begin
	execute 'create table nulls_wide (' || (select string_agg('c' || g || ' int', ', ') from generate_series(1, 100) g) || ') using zheap';
	for i in 1..100 loop
		execute format('insert into nulls_wide (c%s) values (%s)', i, i);
	end loop;
end $$;
select count(*), count(c1), count(c50), count(c100), sum(c1), sum(c50), sum(c100) from nulls_wide;
update nulls_wide set c100 = 1 where c1 = 1;
update nulls_wide set c1 = 2 where c100 = 100;
update nulls_wide set c50 = null, c51 = 50 where c50 = 50;
select c1, c2, c50, c51, c99, c100 from nulls_wide where coalesce(c1, c50, c51, c100) is not null order by 1, 2, 3, 4, 5, 6;
drop table nulls_wide;
