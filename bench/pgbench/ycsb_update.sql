-- YCSB: one of a row's fields is updated; with :reads_first the row is read before
\set n 1 + permute(random_zipfian(1, :rows, :skew) - 1, :rows, 1)
\set field random(0, 9)
\set value random(1, 1000000000)
\if :reads_first
SELECT * FROM usertable WHERE ycsb_key = ycsb_key_of(:n);
\endif
\if :field = 0
UPDATE usertable SET field0 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 1
UPDATE usertable SET field1 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 2
UPDATE usertable SET field2 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 3
UPDATE usertable SET field3 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 4
UPDATE usertable SET field4 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 5
UPDATE usertable SET field5 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 6
UPDATE usertable SET field6 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 7
UPDATE usertable SET field7 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 8
UPDATE usertable SET field8 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\elif :field = 9
UPDATE usertable SET field9 = ycsb_value(:value) WHERE ycsb_key = ycsb_key_of(:n);
\endif
