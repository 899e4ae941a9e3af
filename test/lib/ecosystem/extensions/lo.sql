-- Large objects that go when their row does.
create extension lo;
create table blobs (id int primary key, blob lo);
create trigger manage before update or delete on blobs for each row execute function lo_manage(blob);
insert into blobs select g, lo_from_bytea(0, ('b' || g)::bytea) from generate_series(1, 9) g;
update blobs set id = id + 100 where id = 5;
update blobs set blob = lo_from_bytea(0, 'new') where id = 1;
delete from blobs where id in (2, 3);
begin; delete from blobs; rollback;
begin; savepoint a; update blobs set blob = null; rollback to a; delete from blobs where id = 4; commit;
select id, convert_from(lo_get(blob), 'UTF8') from blobs order by id;
select count(*) from pg_largeobject_metadata;
