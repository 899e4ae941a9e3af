-- YCSB: the next row is inserted
INSERT INTO usertable SELECT ycsb_key_of(n), ycsb_value(n), ycsb_value(n + 1), ycsb_value(n + 2), ycsb_value(n + 3), ycsb_value(n + 4), ycsb_value(n + 5), ycsb_value(n + 6), ycsb_value(n + 7), ycsb_value(n + 8), ycsb_value(n + 9) FROM nextval('ycsb_last') n;
