-- a transaction of two updates; share per cent of them roll back
\set aid random(1, :rows)
\set other random(1, :rows)
\set fails random(1, 100)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = least(:aid::int, :other::int);
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = greatest(:aid::int, :other::int);
\if :fails <= :share
ROLLBACK;
\else
COMMIT;
\endif
