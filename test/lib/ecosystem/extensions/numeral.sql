-- Numbers in words, updated in place.
-- package: postgresql-15-numeral
create extension numeral;
create table n (id int primary key, word numeral);
insert into n select g, g::bigint::numeral from generate_series(1, 300) g;
update n set word = (word * 2)::numeral where id % 2 = 0;
begin; update n set word = 'one'; rollback;
delete from n where id < 20;
vacuum n;
select count(*), md5(string_agg(n::text, ',' order by id)) from n;
select * from n where id in (30, 31) order by id;
