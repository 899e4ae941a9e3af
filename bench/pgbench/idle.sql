-- one row of a page each, then nothing until the lock is free
\set id :client_id + 1
BEGIN;
UPDATE crowd SET n = n + 1 WHERE id = :id;
SELECT pg_advisory_xact_lock_shared(1);
COMMIT;
