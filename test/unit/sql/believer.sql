-- What the stand-in for extensions that believe in heap does is right on heap tables: every function of C code that the other
-- tests aim at zheap tables is tried here on one with heap, and the tables that it makes are the default's or the named method's.
create extension zheap_believers cascade;
create table t (a int, b int, c text) using heap;
select believer_insert('t', 1, 10), believer_catalog_insert('t', 2, 20), believer_multi_insert('t', 3, 30, 3);
select believer_update('t', 1, 11);
select believer_catalog_update('t', 2, 21);
select believer_delete('t', 3);
select believer_catalog_delete('t', 4);
select believer_update('t', 4, 0);
select * from t order by a;
select believer_count('t'), believer_count('t', true);
select believer_create('made_' || how || coalesce('_' || method, ''), how, method)
	from unnest(array['define', 'catalog', 'subcommand', 'query', 'spi']) how, unnest(array[null, 'zheap']) method;
select c.relname, m.amname from pg_class c join pg_am m on c.relam = m.oid where c.relname like 'made%' order by 1;
drop extension zheap_believer cascade;
