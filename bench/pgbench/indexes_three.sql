-- three of the indexed columns get other values
\set id random(1, :rows)
\set v random(1, 100000000)
UPDATE wide SET c1 = :v, c2 = :v + 1, c3 = :v + 2 WHERE id = :id;
