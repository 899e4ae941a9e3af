-- one turn of a job table: a job is claimed, runs, and is done; then another is pending, a new one in :fresh of 100 turns, else one that was done
\set job 0
\set again random(1, :rows)
\set chance random(1, 100)
\set priority random(1, 10)
WITH next AS (SELECT id FROM jobs WHERE state = 'pending' ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE jobs j SET state = 'running' FROM next WHERE j.id = next.id RETURNING j.id AS job \aset
UPDATE jobs SET state = 'done' WHERE id = :job;
\if :chance <= :fresh
INSERT INTO jobs (priority, owner, payload) VALUES (:priority, :again, jsonb_build_object('kind', :priority::int, 'address', 'street ' || :again::text));
\else
UPDATE jobs SET state = 'pending' WHERE id = :again AND state = 'done';
\endif
