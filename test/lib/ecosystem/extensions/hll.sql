-- Sketches that grow in place, wider than a page's line and toasted; aggregates over them.
-- package: postgresql-15-hll
create extension hll;
create table daily (day int primary key, users hll);
insert into daily select d, hll_empty() from generate_series(1, 20) d;
update daily set users = hll_add(users, hll_hash_integer(day));
do $$ begin for i in 1..50 loop update daily set users = users || hll_hash_integer(i * day); end loop; end $$;
update daily set users = users || (select hll_add_agg(hll_hash_integer(g)) from generate_series(1, 5000) g) where day % 2 = 0;
begin; update daily set users = hll_empty(); rollback;
select day, hll_cardinality(users)::numeric(12, 3), md5(users::text) from daily order by day;
select hll_cardinality(hll_union_agg(users))::numeric(12, 3) from daily;
insert into daily select 1, hll_add_agg(hll_hash_text(g::text)) from generate_series(1, 3000) g
	on conflict (day) do update set users = daily.users || excluded.users;
delete from daily where day = 3;
vacuum daily;
select sum(#users)::numeric(12, 3) from daily;
