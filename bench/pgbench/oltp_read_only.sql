-- sysbench's oltp_read_only: ten rows by key and four ranges
\set first :rows / 2 - :rows / 200
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
BEGIN;
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
COMMIT;
