-- YCSB: a row and those that follow it in the order of keys, :scan at most
\set n 1 + permute(random_zipfian(1, :rows, :skew) - 1, :rows, 1)
\set many random(1, :scan)
SELECT * FROM usertable WHERE ycsb_key >= ycsb_key_of(:n) ORDER BY ycsb_key LIMIT :many;
