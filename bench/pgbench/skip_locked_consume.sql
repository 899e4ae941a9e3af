-- the oldest job that no other session has locked is taken and deleted, in one transaction; there may be none
\set job 0
BEGIN;
SELECT id AS job, payload AS what FROM jobs WHERE status = 'pending' ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED \aset
\if :job > 0
DELETE FROM jobs WHERE id = :job;
\endif
COMMIT;
