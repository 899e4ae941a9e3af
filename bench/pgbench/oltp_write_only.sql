-- sysbench's oltp_write_only: both updates, and a row deleted and inserted again
\set first :rows / 2 - :rows / 200
\set id15 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id16 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id17 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set text random(1, 99999999999)
\set text2 random(1, 99999999999)
\set k random(1, :rows)
BEGIN;
UPDATE sbtest1 SET k = k + 1 WHERE id = :id15;
UPDATE sbtest1 SET c = oltp_text(:text, 10) WHERE id = :id16;
DELETE FROM sbtest1 WHERE id = :id17;
INSERT INTO sbtest1 (id, k, c, pad) VALUES (:id17, :k, oltp_text(:text2, 10), oltp_text(:text2, 5)) ON CONFLICT (id) DO NOTHING;
COMMIT;
