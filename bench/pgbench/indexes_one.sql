-- one of the indexed columns gets another value
\set id random(1, :rows)
\set v random(1, 100000000)
UPDATE wide SET c1 = :v WHERE id = :id;
