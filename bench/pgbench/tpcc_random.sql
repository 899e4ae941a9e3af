-- TPC-C: what the specification draws at random.
create function tpcc_last_name(n int) returns text immutable language sql as $$
	select (array['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[n / 100 % 10 + 1]
		|| (array['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[n / 10 % 10 + 1]
		|| (array['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[n % 10 + 1]
$$;

create function tpcc_random(low int, high int) returns int language sql volatile as $$
	select low + floor(random() * (high - low + 1))::int
$$;

-- the specification's NURand: some values come more often than others
create function tpcc_nurand(a int, low int, high int) returns int language sql volatile as $$
	select low + ((tpcc_random(0, a) | tpcc_random(low, high)) + 42) % (high - low + 1)
$$;
