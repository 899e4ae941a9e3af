-- Places on the earth: GiST of an expression over cube, a constraint of its domain.
create extension earthdistance cascade;
create table places (id int primary key, lat float8, lon float8);
create index places_earth on places using gist (ll_to_earth(lat, lon));
insert into places select g, g % 170 - 85, g * 7 % 360 - 180 from generate_series(1, 2000) g;
update places set lat = lat / 2 where id % 3 = 0;
begin; update places set lon = 0; rollback;
delete from places where id % 10 = 0;
vacuum places;
set enable_seqscan = off;
select count(*), sum(id) from places where earth_box(ll_to_earth(20, 30), 1500000) @> ll_to_earth(lat, lon);
create table spots (id int primary key, e earth);
insert into spots select id, ll_to_earth(lat, lon) from places;
update spots set e = ll_to_earth(0, 0) where id % 7 = 0;
select count(*), sum(earth_distance(e, ll_to_earth(0, 0)))::bigint from spots;
