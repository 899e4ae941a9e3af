-- The planner reads all rows of a small table only where that is cheaper in truth.
-- Plans of look-ups by key in tables of one page, vacuumed, of few rows and of more.

create table few (id int primary key, v int) using zheap;
insert into few select i, 0 from generate_series(1, 8) i;
create table more (id int primary key, v int) using zheap;
insert into more select i, 0 from generate_series(1, 20) i;
create table teller (id int primary key, v int) using zheap;
insert into teller select i, 0 from generate_series(1, 200) i;
vacuum analyze few, more, teller;

-- no table has more than a page or two
select relname, relpages <= 2 as small from pg_class where relname in ('few', 'more', 'teller')
order by 1;
explain (costs off) select * from few where id = 3;
explain (costs off) select * from more where id = 3;
explain (costs off) update teller set v = v + 1 where id = 3;

-- what takes most of the rows still reads the table in order
explain (costs off) select * from more where v = 0;
explain (costs off) select sum(v) from teller where id > 10;

drop table few, more, teller;
