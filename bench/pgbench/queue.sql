-- one turn of a queue: a row comes, the oldest goes; -D n=0 and one client
\set n :n + 1
BEGIN;
INSERT INTO queue VALUES (:n + 20, repeat('q', 100));
DELETE FROM queue WHERE id = :n;
COMMIT;
