-- one of a thousand rows
\set id random(1, 1000)
UPDATE crowd SET n = n + 1 WHERE id = :id;
