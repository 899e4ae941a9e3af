-- a balance changes, which is numeric
\set id random(1, :rows)
\set amount random(-10000, 10000)
UPDATE balances SET balance = balance + :amount / 100.0 WHERE id = :id;
