-- the same, and a column that no index has is changed
\set id random(1, :rows)
BEGIN;
SELECT substring(aid, 1, 10) FROM fat WHERE aid = fat_key(:id) ORDER BY aid;
UPDATE fat SET abalance = abalance + 100 WHERE aid = fat_key(:id);
END;
