-- YCSB's table: a key made of a hash, and ten fields of 100 bytes
create table usertable (ycsb_key varchar(255) primary key, field0 text, field1 text, field2 text, field3 text, field4 text,
	field5 text, field6 text, field7 text, field8 text, field9 text);

-- number of the newest row
create sequence ycsb_last;

create function ycsb_key_of(n bigint) returns text language sql immutable parallel safe as $$
	select 'user' || (hashint8extended(n, 0) & 9223372036854775807)::text
$$;

create function ycsb_value(n bigint) returns text language sql immutable parallel safe as $$
	select left(repeat(md5(n::text), 4), 100)
$$;

create function ycsb_load(rows bigint) returns void language sql as $$
	insert into usertable select ycsb_key_of(n), ycsb_value(n), ycsb_value(n + 1), ycsb_value(n + 2), ycsb_value(n + 3), ycsb_value(n + 4),
		ycsb_value(n + 5), ycsb_value(n + 6), ycsb_value(n + 7), ycsb_value(n + 8), ycsb_value(n + 9) from generate_series(1, rows) n;
	select setval('ycsb_last', rows);
$$;
