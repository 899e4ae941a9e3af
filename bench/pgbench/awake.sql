-- rows of the same page that nobody else has changed
\set id random(251, 280)
UPDATE crowd SET n = n + 1 WHERE id = :id;
