-- Shortest paths over a table of edges that is updated; topology made by the extension's functions.
-- package: postgresql-15-pgrouting
-- package: postgresql-15-pgrouting-scripts
-- package: postgresql-15-postgis-3-scripts
create extension pgrouting cascade;
create table edges (id int primary key, source bigint, target bigint, cost float8, geom geometry(linestring));
insert into edges select g, null, null, 1 + g % 5, st_makeline(st_makepoint(g % 10, g / 10), case g % 2 when 0 then st_makepoint(g % 10 + 1, g / 10) else st_makepoint(g % 10, g / 10 + 1) end) from generate_series(0, 99) g;
select pgr_createtopology('edges', 0.001, 'geom', 'id');
select count(*) from edges_vertices_pgr;
select pgr_analyzegraph('edges', 0.001, 'geom', 'id');
update edges set cost = cost + 10 where id % 3 = 0;
begin; update edges set cost = -1; rollback;
select count(*), sum(cost) from pgr_dijkstra('select id, source, target, cost from edges', 1, 60, false);
delete from edges where id % 11 = 0;
select count(*), max(agg_cost) from pgr_drivingdistance('select id, source, target, cost from edges', 1, 30, false);
