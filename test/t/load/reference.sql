\set id random(1, 2000)
\set what random(1, 10)
begin;
select pg_advisory_xact_lock(:id);
update t set v = v + 1 where id = :id;
update twin set v = v + 1 where id = :id;
savepoint a;
update t set v = v - 10 where id = :id;
rollback to a;
\if :what = 1
rollback;
\else
commit;
\endif
