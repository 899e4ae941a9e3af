-- few rows get most of the updates; 1.1 as YCSB's constant comes to for so many rows
\set aid random_zipfian(1, :rows, 1.1)
\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
