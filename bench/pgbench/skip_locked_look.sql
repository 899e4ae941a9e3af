-- a look-up that has nothing to do with the queue
\set id random(1, :rows)
SELECT balance FROM accounts WHERE id = :id;
