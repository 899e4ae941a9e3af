-- a row is looked up by its long key
\set id random(1, :rows)
SELECT substring(aid, 1, 10) FROM fat WHERE aid = fat_key(:id) ORDER BY aid;
