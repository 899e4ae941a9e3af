-- YCSB: a row is read; some rows are read much more often than others, and lie anywhere
\set n 1 + permute(random_zipfian(1, :rows, :skew) - 1, :rows, 1)
SELECT * FROM usertable WHERE ycsb_key = ycsb_key_of(:n);
