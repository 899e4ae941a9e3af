-- A step of the Insert Benchmark: new rows at the head of a table of the client's own, and as many of the oldest are deleted, each in a transaction.
-- :rows at a time; :delete is 0 in the first step.
insert into purchases:client_id (dateandtime, cashregisterid, customerid, productid, price, data)
	select clock_timestamp()::timestamp, (random() * 1000)::int, (random() * 100000)::int, (random() * 10000)::int, (random() * 500)::int, 'abcdefghij'
	from generate_series(1, :rows);
\if :delete
select min(transactionid) as oldest from purchases:client_id \gset
delete from purchases:client_id where transactionid >= :oldest and transactionid < :oldest + :rows;
\endif
