-- YCSB: a row is read, the newer the more often
\set n random_zipfian(1, :rows, :skew) - 1
SELECT * FROM usertable WHERE ycsb_key = ycsb_key_of((SELECT last_value FROM ycsb_last) - :n);
