-- a row of a table that was just loaded
\set id random(1, :rows)
UPDATE loaded SET n = n + 1 WHERE id = :id;
