-- Positions on the sky: an expression index, CLUSTER by it, cone search and join.
-- package: postgresql-15-q3c
create extension q3c;
create table stars (id int primary key, ra float8, dec float8, mag int default 0);
insert into stars select g, (g * 7.31)::numeric % 360, (g * 3.7)::numeric % 180 - 90 from generate_series(1, 3000) g;
create index stars_q3c on stars (q3c_ang2ipix(ra, dec));
cluster stars_q3c on stars;
analyze stars;
set enable_seqscan = off;
select count(*), sum(id) from stars where q3c_radial_query(ra, dec, 40, 20, 15);
update stars set mag = mag + 1;
update stars set ra = (ra::numeric + 100) % 360 where id % 3 = 0;
begin; update stars set dec = 0; delete from stars; rollback;
delete from stars where id % 10 = 0;
select count(*), sum(id) from stars where q3c_radial_query(ra, dec, 40, 20, 15);
vacuum stars;
select count(*), sum(id) from stars where q3c_radial_query(ra, dec, 40, 20, 15);
select count(*), sum(a.id + b.id) from stars a, stars b where q3c_join(a.ra, a.dec, b.ra, b.dec, 1) and a.id <> b.id;
select count(*) from stars where q3c_poly_query(ra, dec, array[10, 10, 60, 10, 60, 40, 10, 40]::float8[]);
