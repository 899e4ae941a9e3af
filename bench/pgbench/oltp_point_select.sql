-- sysbench's oltp_point_select: a row by its key
\set first :rows / 2 - :rows / 200
\set id1 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
SELECT c FROM sbtest1 WHERE id = :id1;
