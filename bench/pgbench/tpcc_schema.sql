-- TPC-C: tables, loading, the five transactions.  After the TPC's specification (5.11), without its
-- terminals and keying times: texts are short random ones, and customers are chosen by number only, or by a last name.
create table warehouse (w_id int primary key, w_name text, w_tax numeric(4,4), w_ytd numeric(12,2));
create table district (d_w_id int, d_id int, d_name text, d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id int, primary key (d_w_id, d_id));
create table customer (c_w_id int, c_d_id int, c_id int, c_first text, c_last text, c_credit char(2), c_discount numeric(4,4),
	c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt int, c_delivery_cnt int, c_data text, primary key (c_w_id, c_d_id, c_id));
create index customer_name on customer (c_w_id, c_d_id, c_last, c_first);
create table history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamptz, h_amount numeric(6,2), h_data text);
create table new_order (no_w_id int, no_d_id int, no_o_id int, primary key (no_w_id, no_d_id, no_o_id));
create table orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamptz, o_carrier_id int, o_ol_cnt int, o_all_local int,
	primary key (o_w_id, o_d_id, o_id));
create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id);
create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_supply_w_id int, ol_delivery_d timestamptz,
	ol_quantity int, ol_amount numeric(6,2), ol_dist_info text, primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));
create table item (i_id int primary key, i_name text, i_price numeric(5,2), i_data text);
create table stock (s_w_id int, s_i_id int, s_quantity int, s_ytd int, s_order_cnt int, s_remote_cnt int, s_dist text, s_data text, primary key (s_w_id, s_i_id));

create function tpcc_load(warehouses int) returns void language plpgsql as $$
begin
	insert into item select i, md5(i::text), 1 + i % 9900 / 100.0, repeat(md5(i::text), 1) from generate_series(1, 100000) i;
	insert into warehouse select w, 'W' || w, w % 20 / 100.0, 300000 from generate_series(1, warehouses) w;
	insert into district select w, d, 'D' || d, d % 20 / 100.0, 30000, 3001 from generate_series(1, warehouses) w, generate_series(1, 10) d;
	insert into stock select w, i, 10 + i % 91, 0, 0, 0, md5(w::text), md5(i::text) from generate_series(1, warehouses) w, generate_series(1, 100000) i;
	insert into customer select w, d, c, md5(c::text), tpcc_last_name(case when c <= 1000 then c - 1 else tpcc_nurand(255, 0, 999) end),
		case when c % 10 = 0 then 'BC' else 'GC' end, c % 50 / 100.0, -10, 10, 1, 0, repeat(md5(c::text), 10)
		from generate_series(1, warehouses) w, generate_series(1, 10) d, generate_series(1, 3000) c;
	insert into history select c, d, w, d, w, now(), 10, 'first' from generate_series(1, warehouses) w, generate_series(1, 10) d, generate_series(1, 3000) c;
	insert into orders select w, d, o, (o * 7) % 3000 + 1, now(), case when o < 2101 then o % 10 + 1 end, 5 + o % 11, 1
		from generate_series(1, warehouses) w, generate_series(1, 10) d, generate_series(1, 3000) o;
	insert into order_line select o_w_id, o_d_id, o_id, l, tpcc_random(1, 100000), o_w_id, case when o_id < 2101 then o_entry_d end, 5,
		case when o_id < 2101 then 0 else tpcc_random(1, 999999) / 100.0 end, md5(l::text) from orders, generate_series(1, o_ol_cnt) l;
	insert into new_order select o_w_id, o_d_id, o_id from orders where o_id >= 2101;
end $$;

create function tpcc_new_order(w int, warehouses int) returns numeric language plpgsql as $$
declare
	d int := tpcc_random(1, 10);
	c int := tpcc_nurand(1023, 1, 3000);
	lines int := tpcc_random(5, 15);
	fails boolean := tpcc_random(1, 100) = 1;
	items int[];
	supply int[];
	discount numeric;
	tax numeric;
	o int;
	price numeric;
	left_over int;
	total numeric := 0;
	far boolean;
begin
	-- in order, so that two transactions do not wait for each other
	select array_agg(i order by i) into items from (select distinct tpcc_nurand(8191, 1, 100000) i from generate_series(1, lines)) s;
	lines := array_length(items, 1);
	select array_agg(case when warehouses > 1 and random() < 0.01 then 1 + (w + tpcc_random(1, warehouses - 1) - 1) % warehouses else w end)
		into supply from generate_series(1, lines);
	select w_tax into tax from warehouse where w_id = w;
	update district set d_next_o_id = d_next_o_id + 1 where d_w_id = w and d_id = d returning d_next_o_id - 1, d_tax + tax into o, tax;
	select c_discount into discount from customer where c_w_id = w and c_d_id = d and c_id = c;
	far := exists (select from unnest(supply) s where s <> w);
	insert into orders values (w, d, o, c, now(), null, lines, case when far then 0 else 1 end);
	insert into new_order values (w, d, o);
	for l in 1 .. lines loop
		-- the last item of one in a hundred does not exist: the transaction is rolled back
		if fails and l = lines then
			raise exception using errcode = 'TC001', message = 'item does not exist';
		end if;
		select i_price into price from item where i_id = items[l];
		update stock set s_quantity = case when s_quantity >= 15 then s_quantity - 5 else s_quantity + 86 end, s_ytd = s_ytd + 5,
			s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supply[l] <> w)::int
			where s_w_id = supply[l] and s_i_id = items[l] returning s_quantity into left_over;
		insert into order_line values (w, d, o, l, items[l], supply[l], null, 5, 5 * price, md5(l::text));
		total := total + 5 * price;
	end loop;
	return total * (1 - discount) * (1 + tax);
exception when sqlstate 'TC001' then
	return null;
end $$;

create function tpcc_payment(w int, warehouses int) returns void language plpgsql as $$
declare
	d int := tpcc_random(1, 10);
	amount numeric := tpcc_random(100, 500000) / 100.0;
	cw int := w;
	cd int := d;
	c int;
begin
	if warehouses > 1 and random() < 0.15 then
		cw := 1 + (w + tpcc_random(1, warehouses - 1) - 1) % warehouses;
		cd := tpcc_random(1, 10);
	end if;
	if random() < 0.6 then
		select c_id into c from (select c_id, row_number() over (order by c_first) n, count(*) over () total from customer
			where c_w_id = cw and c_d_id = cd and c_last = tpcc_last_name(tpcc_nurand(255, 0, 999))) s where n = (total + 1) / 2;
	end if;
	c := coalesce(c, tpcc_nurand(1023, 1, 3000));
	update warehouse set w_ytd = w_ytd + amount where w_id = w;
	update district set d_ytd = d_ytd + amount where d_w_id = w and d_id = d;
	update customer set c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1,
		c_data = case when c_credit = 'BC' then left(c || ' ' || cd || ' ' || cw || ' ' || amount || ' ' || c_data, 500) else c_data end
		where c_w_id = cw and c_d_id = cd and c_id = c;
	insert into history values (c, cd, cw, d, w, now(), amount, 'W' || w || '    D' || d);
end $$;

create function tpcc_order_status(w int) returns bigint language sql volatile as $$
	select count(*) from (select o_d_id, o_id from orders where o_w_id = w and o_d_id = tpcc_random(1, 10) and o_c_id = tpcc_nurand(1023, 1, 3000)
		order by o_id desc limit 1) o join order_line on ol_w_id = w and ol_d_id = o.o_d_id and ol_o_id = o.o_id
$$;

create function tpcc_delivery(w int) returns int language plpgsql as $$
declare
	o int;
	c int;
	amount numeric;
	delivered int := 0;
begin
	for d in 1 .. 10 loop
		delete from new_order where no_w_id = w and no_d_id = d and no_o_id = (select no_o_id from new_order where no_w_id = w and no_d_id = d
			order by no_o_id limit 1 for update skip locked) returning no_o_id into o;
		continue when o is null;
		update orders set o_carrier_id = tpcc_random(1, 10) where o_w_id = w and o_d_id = d and o_id = o returning o_c_id into c;
		with l as (update order_line set ol_delivery_d = now() where ol_w_id = w and ol_d_id = d and ol_o_id = o returning ol_amount)
			select sum(ol_amount) into amount from l;
		update customer set c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = w and c_d_id = d and c_id = c;
		delivered := delivered + 1;
	end loop;
	return delivered;
end $$;

create function tpcc_stock_level(w int) returns bigint language sql volatile as $$
	with d as materialized (select d_id, d_next_o_id from district where d_w_id = w and d_id = tpcc_random(1, 10))
	select count(distinct s_i_id) from d join order_line on ol_w_id = w and ol_d_id = d_id and ol_o_id between d_next_o_id - 20 and d_next_o_id - 1
		join stock on s_w_id = w and s_i_id = ol_i_id where s_quantity < 15
$$;
