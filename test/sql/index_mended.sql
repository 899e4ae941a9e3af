-- CREATE INDEX while old versions are needed: of those no expression is evaluated, and none is indexed that the index never had.
create table ixm (id int primary key, b int, s text) using zheap;
insert into ixm values (1, 0, ''), (2, 1, '{"k": "v"}');
begin;
update ixm set b = 1, s = '{"k": "w"}' where id = 1;
create index ixm_b on ixm ((1 / b));
create index ixm_s on ixm (((s::jsonb) ->> 'k'));
create index ixm_p on ixm (id) where 1 / b > 0;
create index ixm_brin on ixm using brin ((1 / b));
select id from ixm where (s::jsonb) ->> 'k' = 'w';
commit;
set enable_seqscan = off;
select id from ixm where (s::jsonb) ->> 'k' = 'w';
select id from ixm where 1 / b = 1 order by id;
-- a value that has been shortened
create table ixl (id int primary key, a int, c text) using zheap;
alter table ixl alter c set storage external;
create index ixl_a on ixl (a);
insert into ixl values (1, 1, (select string_agg(md5(g::text), '') from generate_series(1, 200) g));
update ixl set a = 2;
begin;
update ixl set c = left(c, 10);
create index ixl_c on ixl (c);
select id, a from ixl where c = left(md5('1'), 10);
commit;
select id, a from ixl where c = left(md5('1'), 10);
select id, a, c from ixl where a = 2;
select id, a, c from ixl where a = 1;
drop table ixm, ixl;
