-- sysbench's oltp_update_non_index: a column without an index
\set first :rows / 2 - :rows / 200
\set id1 case when random(1, 100) <= :hot then :first + random(0, :rows / 100) else random(1, :rows) end
\set text random(1, 99999999999)
UPDATE sbtest1 SET c = oltp_text(:text, 10) WHERE id = :id1;
