-- one column of a wide row
\set id random(1, :rows)
UPDATE wide_row SET n = n + 1 WHERE id = :id;
