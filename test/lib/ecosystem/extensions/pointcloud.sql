-- Patches of points, toasted, in a table with a schema of its own; updates of them.
-- package: postgresql-15-pointcloud
create extension pointcloud;
insert into pointcloud_formats (pcid, srid, schema) values (1, 4326, '<?xml version="1.0" encoding="UTF-8"?>
<pc:PointCloudSchema xmlns:pc="http://pointcloud.org/schemas/PC/1.1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<pc:dimension><pc:position>1</pc:position><pc:size>4</pc:size><pc:name>X</pc:name><pc:interpretation>int32_t</pc:interpretation><pc:scale>0.01</pc:scale></pc:dimension>
<pc:dimension><pc:position>2</pc:position><pc:size>4</pc:size><pc:name>Y</pc:name><pc:interpretation>int32_t</pc:interpretation><pc:scale>0.01</pc:scale></pc:dimension>
<pc:dimension><pc:position>3</pc:position><pc:size>2</pc:size><pc:name>Z</pc:name><pc:interpretation>uint16_t</pc:interpretation></pc:dimension>
<pc:metadata><Metadata name="compression">dimensional</Metadata></pc:metadata></pc:PointCloudSchema>');
create table points (id int primary key, pt pcpoint(1));
insert into points select g, pc_makepoint(1, array[g % 100, g % 70, g]) from generate_series(1, 3000) g;
create table patches (id int primary key, pa pcpatch(1));
insert into patches select id % 20, pc_patch(pt) from points group by 1;
update points set pt = pc_makepoint(1, array[id, id, id]) where id % 3 = 0;
update patches p set pa = (select pc_patch(pt) from points where id % 20 = p.id) where id % 2 = 0;
begin; update patches set pa = null; delete from points; rollback;
delete from patches where id = 7;
vacuum points, patches;
select count(*), sum(pc_get(pt, 'x')), sum(pc_get(pt, 'z')) from points;
select id, pc_numpoints(pa), pc_patchmax(pa, 'z'), pc_patchavg(pa, 'x') from patches order by id;
select count(*), md5(string_agg(pc_astext(p), ',' order by id, pc_get(p, 'z'))) from (select id, pc_explode(pa) as p from patches) s;
