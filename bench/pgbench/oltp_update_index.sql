-- sysbench's oltp_update_index: the indexed column of a row
\set first :rows / 2 - :rows / 200
\set id1 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
UPDATE sbtest1 SET k = k + 1 WHERE id = :id1;
