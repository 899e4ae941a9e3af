-- each client has rows of its own, so that the changes are the same on both sides
\set aid 1 + :client_id + :clients * random(0, 100000 * :scale / :clients - 1)
\set gone 1 + :client_id + :clients * random(0, 100000 * :scale / :clients - 1)
\set delta random(-5000, 5000)
begin;
update pgbench_accounts set abalance = abalance + :delta where aid = :aid;
insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, :aid, :delta, current_timestamp);
delete from pgbench_accounts where aid = :gone;
insert into pgbench_accounts values (:gone, 1, :delta, 'again') on conflict (aid) do update set filler = 'not reached';
commit;
