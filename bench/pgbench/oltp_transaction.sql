-- sysbench's oltp_read_only, oltp_write_only and oltp_read_write: with :reads ten rows by key
-- and four ranges, with :writes both updates, and a row deleted and inserted again
\set first :rows / 2 - :rows / 200
\if :reads
\set id1 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id2 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id3 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id4 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id5 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id6 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id7 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id8 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id9 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id10 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id11 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set last11 :id11 + :range - 1
\set id12 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set last12 :id12 + :range - 1
\set id13 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set last13 :id13 + :range - 1
\set id14 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set last14 :id14 + :range - 1
\endif
\if :writes
\set id15 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id16 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set id17 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set text random(1, 99999999999)
\set text2 random(1, 99999999999)
\set k random(1, :rows)
\endif
BEGIN;
\if :reads
SELECT c FROM sbtest1 WHERE id = :id1;
SELECT c FROM sbtest1 WHERE id = :id2;
SELECT c FROM sbtest1 WHERE id = :id3;
SELECT c FROM sbtest1 WHERE id = :id4;
SELECT c FROM sbtest1 WHERE id = :id5;
SELECT c FROM sbtest1 WHERE id = :id6;
SELECT c FROM sbtest1 WHERE id = :id7;
SELECT c FROM sbtest1 WHERE id = :id8;
SELECT c FROM sbtest1 WHERE id = :id9;
SELECT c FROM sbtest1 WHERE id = :id10;
SELECT c FROM sbtest1 WHERE id BETWEEN :id11 AND :last11;
SELECT sum(k) FROM sbtest1 WHERE id BETWEEN :id12 AND :last12;
SELECT c FROM sbtest1 WHERE id BETWEEN :id13 AND :last13 ORDER BY c;
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN :id14 AND :last14 ORDER BY c;
\endif
\if :writes
UPDATE sbtest1 SET k = k + 1 WHERE id = :id15;
UPDATE sbtest1 SET c = oltp_text(:text, 10) WHERE id = :id16;
DELETE FROM sbtest1 WHERE id = :id17;
INSERT INTO sbtest1 (id, k, c, pad) VALUES (:id17, :k, oltp_text(:text2, 10), oltp_text(:text2, 5)) ON CONFLICT (id) DO NOTHING;
\endif
COMMIT;
