-- Keys that are equal and look different: an index-only scan must show what the row has.  Variables: type, one, other.
set client_min_messages = warning;
drop table if exists e;
reset client_min_messages;
create table e (id int primary key, x :type);
create index e_x on e (x);
insert into e select i, :one from generate_series(1, 500) i;
update e set x = :other where id % 2 = 0;
begin; update e set x = :other; rollback;
update e set x = :one where id % 4 = 0;
vacuum analyze e;
set enable_seqscan = off;
set enable_bitmapscan = off;
select count(*), count(distinct x), count(distinct x::text) from e where x = :one;
select x::text, count(*) from (select x from e where x = :other offset 0) s group by 1 order by 1;
select x::text, count(*) from (select x from e order by x offset 0) s group by 1 order by 1;
reset enable_seqscan;
reset enable_bitmapscan;
select x::text, count(*) from e group by 1 order by 1;
