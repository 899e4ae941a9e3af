-- TPC-C's tables with all their columns (clause 1.3), and their rows at first (4.3.3); items and customers of a district may be fewer.
create table warehouse (w_id int primary key, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2),
	w_zip char(9), w_tax numeric(4,4), w_ytd numeric(12,2));
create table district (d_w_id int, d_id int, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2),
	d_zip char(9), d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id int, primary key (d_w_id, d_id));
create table customer (c_w_id int, c_d_id int, c_id int, c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20),
	c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamptz, c_credit char(2),
	c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt int,
	c_delivery_cnt int, c_data varchar(500), primary key (c_w_id, c_d_id, c_id));
create table history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamptz, h_amount numeric(6,2), h_data varchar(24));
create table new_order (no_w_id int, no_d_id int, no_o_id int, primary key (no_w_id, no_d_id, no_o_id));
create table orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamptz, o_carrier_id int, o_ol_cnt int, o_all_local int,
	primary key (o_w_id, o_d_id, o_id));
create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_supply_w_id int, ol_delivery_d timestamptz,
	ol_quantity int, ol_amount numeric(6,2), ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));
create table item (i_id int primary key, i_im_id int, i_name varchar(24), i_price numeric(5,2), i_data varchar(50));
create table stock (s_w_id int, s_i_id int, s_quantity int, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24),
	s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd int,
	s_order_cnt int, s_remote_cnt int, s_data varchar(50), primary key (s_w_id, s_i_id));

-- letters and digits, low to high of them
create function tprocc_text(low int, high int) returns text language sql volatile as $$
	select left(repeat(md5(random()::text), high / 32 + 1), tpcc_random(low, high))
$$;

create procedure tprocc_load_customers(warehouses int, customers int) language sql as $$
	insert into customer select w, d, c, tprocc_text(8, 16), 'OE',
		tpcc_last_name(case when c <= 1000 then c - 1 else tpcc_nurand(255, 0, 999) end), tprocc_text(10, 20), tprocc_text(10, 20),
		tprocc_text(10, 20), 'ST', '123411111', tprocc_text(16, 16), now(), case when random() < 0.1 then 'BC' else 'GC' end, 50000,
		tpcc_random(0, 5000) / 10000.0, -10, 10, 1, 0, tprocc_text(300, 500)
		from generate_series(1, warehouses) w, generate_series(1, 10) d, generate_series(1, customers) c;
	insert into history select c_id, c_d_id, c_w_id, c_d_id, c_w_id, now(), 10, tprocc_text(12, 24) from customer;
$$;

-- the last three of ten orders are not yet delivered
create procedure tprocc_load_orders(warehouses int, customers int, items int) language sql as $$
	insert into orders select w, d, o, c, now(), case when o <= customers * 7 / 10 then tpcc_random(1, 10) end, tpcc_random(5, 15), 1
		from (select w, d, c, row_number() over (partition by w, d order by random()) o
			from generate_series(1, warehouses) w, generate_series(1, 10) d, generate_series(1, customers) c) s;
	insert into new_order select o_w_id, o_d_id, o_id from orders where o_carrier_id is null;
	insert into order_line select o_w_id, o_d_id, o_id, l, tpcc_random(1, items), o_w_id, case when o_carrier_id is not null then o_entry_d end, 5,
		case when o_carrier_id is not null then 0 else tpcc_random(1, 999999) / 100.0 end, tprocc_text(24, 24) from orders, generate_series(1, o_ol_cnt) l;
$$;

create procedure tprocc_load(warehouses int, items int, customers int) language plpgsql as $$
begin
	insert into item select i, tpcc_random(1, 10000), tprocc_text(14, 24), tpcc_random(100, 10000) / 100.0, tprocc_text(26, 50) from generate_series(1, items) i;
	insert into warehouse select w, tprocc_text(6, 10), tprocc_text(10, 20), tprocc_text(10, 20), tprocc_text(10, 20), 'ST', '123411111',
		tpcc_random(0, 2000) / 10000.0, 100.0 * customers from generate_series(1, warehouses) w;
	insert into district select w, d, tprocc_text(6, 10), tprocc_text(10, 20), tprocc_text(10, 20), tprocc_text(10, 20), 'ST', '123411111',
		tpcc_random(0, 2000) / 10000.0, 10.0 * customers, customers + 1 from generate_series(1, warehouses) w, generate_series(1, 10) d;
	insert into stock select w, i, tpcc_random(10, 100), tprocc_text(24, 24), tprocc_text(24, 24), tprocc_text(24, 24), tprocc_text(24, 24), tprocc_text(24, 24),
		tprocc_text(24, 24), tprocc_text(24, 24), tprocc_text(24, 24), tprocc_text(24, 24), tprocc_text(24, 24), 0, 0, 0, tprocc_text(26, 50)
		from generate_series(1, warehouses) w, generate_series(1, items) i;
	call tprocc_load_customers(warehouses, customers);
	call tprocc_load_orders(warehouses, customers, items);
	create index customer_name on customer (c_w_id, c_d_id, c_last, c_first);
	create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id);
end $$;
