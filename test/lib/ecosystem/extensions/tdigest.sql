-- Sketches of distributions, added to in place.
-- package: postgresql-15-tdigest
create extension tdigest;
create table latency (service int primary key, d tdigest);
insert into latency select g % 10, tdigest(g, 50) from generate_series(1, 10000) g group by 1;
do $$ begin for i in 1..50 loop update latency set d = tdigest_add(d, (i * 100 + service)::float8); end loop; end $$;
update latency set d = tdigest_union(d, (select tdigest(g, 50) from generate_series(1, 500) g)) where service % 2 = 0;
begin; update latency set d = null; rollback;
select service, (select tdigest_percentile(s.d, 0.5)::numeric(12, 3) from latency s where s.service = l.service) from latency l order by 1;
select tdigest_percentile(d, array[0.1, 0.9])::text from latency where service in (3, 4);
