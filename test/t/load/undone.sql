-- like TPC-B, but more of it, and undone: a part first, then the rest
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
begin;
update pgbench_accounts set abalance = abalance + 1000000 where aid between :aid and :aid + 9;
savepoint a;
delete from pgbench_accounts where aid between :aid and :aid + 20;
rollback to a;
update pgbench_tellers set tbalance = tbalance + 1000000 where tid = :tid;
delete from pgbench_tellers where tid = :tid;
update pgbench_branches set bbalance = bbalance + 1000000 where bid = :bid;
insert into pgbench_history (tid, bid, aid, delta, mtime) values (:tid, :bid, :aid, 1000000, current_timestamp);
rollback;
