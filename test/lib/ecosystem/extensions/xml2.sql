-- Rows made of the XML documents in a table.
create extension xml2;
create table docs (id int primary key, doc text);
insert into docs select g, format('<doc><author>a%s</author><pages>%s</pages></doc>', g % 5, g) from generate_series(1, 30) g;
update docs set doc = replace(doc, 'a3', 'changed') where id % 2 = 1;
update docs set doc = doc || '<' where id = 4;
begin; delete from docs; rollback;
select * from xpath_table('id', 'doc', 'docs', '/doc/author|/doc/pages', 'id < 8 and xml_valid(doc)') as t(id int, author text, pages int) order by id;
select sum(xpath_number(doc, '/doc/pages')) from docs where xml_valid(doc);
