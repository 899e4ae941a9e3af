-- Geometry and geography with GiST, SP-GiST and BRIN, constraints by typmod, nearest neighbours, estimates made by ANALYZE,
-- topology and rasters in its own tables.
-- package: postgresql-15-postgis-3
-- package: postgresql-15-postgis-3-scripts
-- errors: 1
create extension postgis;
\set type 'geometry(point, 4326)'
\set value 'st_setsrid(st_makepoint(i % 90, i % 70), 4326)'
\set index 'using gist (x)'
\set probe 'x && st_makeenvelope(10, 10, 20, 20, 4326)'
\i parts/values.sql
\set index 'using spgist (x)'
\i parts/values.sql
\set index 'using brin (x)'
\i parts/values.sql
\set index '(x)'
\set probe 'x = st_setsrid(st_makepoint(17, 17), 4326)'
\i parts/values.sql
\set type geography
\set value 'st_buffer(st_setsrid(st_makepoint(i % 90, i % 70), 4326)::geography, 5000, 2)'
\set index 'using gist (x)'
\set probe 'st_intersects(x, st_makeenvelope(10, 10, 20, 20, 4326)::geography)'
\i parts/values.sql
create table places (id int primary key, name text, g geometry(polygon, 3857), n int default 0);
create index places_g on places using gist (g);
insert into places select i, 'p' || i, st_buffer(st_setsrid(st_makepoint(i % 100 * 10, i / 100 * 10), 3857), 3, 8) from generate_series(1, 3000) i;
insert into places values (0, 'wrong', st_setsrid(st_makepoint(1, 1), 3857));
select f_table_name, f_geometry_column, coord_dimension, srid, type from geometry_columns;
analyze places;
select _postgis_selectivity('places', 'g', st_makeenvelope(0, 0, 500, 150, 3857))::numeric(6, 2);
update places set n = n + 1;
update places set g = st_translate(g, 1000, 0) where id % 3 = 0;
begin; update places set g = st_translate(g, 5000, 5000); delete from places where id % 2 = 0; rollback;
select id from places order by g <-> st_setsrid(st_makepoint(1111, 55), 3857), id limit 5;
update places set g = st_simplify(g, 1) where id % 5 = 0;
delete from places where id % 7 = 0;
vacuum analyze places;
set enable_seqscan = off;
select count(*), sum(id), sum(st_npoints(g)), sum(st_area(g))::numeric(12, 3) from places where g && st_makeenvelope(900, 0, 1500, 150, 3857);
select count(*) from places a join places b on st_intersects(a.g, b.g) and a.id < b.id;
reset enable_seqscan;
select st_extent(g), st_estimatedextent('places', 'g')::text <> '' from places;
select count(*), st_numgeometries(st_collect(g)) from places;
select addgeometrycolumn('public', 'places', 'centre', 3857, 'POINT', 2);
update places set centre = st_centroid(g) where id % 2 = 0;
select updategeometrysrid('places', 'centre', 4326);
select count(centre), min(st_srid(centre)) from places;
select populate_geometry_columns('places'::regclass);
select dropgeometrycolumn('public', 'places', 'centre');
insert into spatial_ref_sys (srid, auth_name, auth_srid, proj4text) values (990000, 'own', 1, '+proj=longlat +datum=WGS84');
update spatial_ref_sys set auth_name = 'other' where srid = 990000;
select auth_name from spatial_ref_sys where srid = 990000;
delete from spatial_ref_sys where srid = 990000;
create extension postgis_topology;
select topology.createtopology('topo', 3857, 0.01) > 0;
select topology.addnode('topo', 'srid=3857;point(0 0)') > 0;
select topology.addedge('topo', 'srid=3857;linestring(0 0, 10 0, 10 10)') > 0;
select topology.addedge('topo', 'srid=3857;linestring(10 10, 0 10, 0 0)') > 0;
select topology.addface('topo', 'srid=3857;polygon((0 0, 10 0, 10 10, 0 10, 0 0))') > 0;
select (select count(*) from topo.node), (select count(*) from topo.edge_data), (select count(*) from topo.face);
select topology.st_modedgesplit('topo', 1, 'srid=3857;point(5 0)') > 0;
begin; select topology.droptopology('topo'); rollback;
select st_astext(topology.st_getfacegeometry('topo', 1));
select topology.addtopogeometrycolumn('topo', 'public', 'places', 'tg', 'POLYGON') > 0;
update places set tg = topology.createtopogeom('topo', 3, 1, '{{1,3}}') where id = 1;
select st_area(tg::geometry) from places where id = 1;
create extension postgis_raster;
create table rasters (id int primary key, r raster);
insert into rasters select i, st_addband(st_makeemptyraster(40, 40, i * 40, 0, 1, -1, 0, 0, 3857), '8BUI'::text, i, 0) from generate_series(1, 20) i;
create index rasters_r on rasters using gist (st_convexhull(r));
update rasters set r = st_setvalue(r, 1, 5, 5, 200) where id % 2 = 0;
begin; update rasters set r = null; rollback;
select count(*), sum((st_summarystats(r)).sum) from rasters where st_convexhull(r) && st_makeenvelope(100, -40, 400, 0, 3857);
