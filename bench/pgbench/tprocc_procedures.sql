-- TPC-C's five transactions (clauses 2.4 to 2.8) as procedures; the client draws what a terminal's user would enter.

create procedure neword(w int, warehouses int, d int, c int, lines int, items int) language plpgsql as $$
declare
	fails boolean := tpcc_random(1, 100) = 1;
	tax numeric;
	discount numeric;
	o int;
	wanted int[];
	supply int[];
	quantity int;
	price numeric;
	left_over int;
	far boolean;
	info text;
	total numeric := 0;
begin
	select w_tax, c_discount into tax, discount from warehouse, customer where w_id = w and c_w_id = w and c_d_id = d and c_id = c;
	update district set d_next_o_id = d_next_o_id + 1 where d_w_id = w and d_id = d returning d_next_o_id - 1, d_tax + tax into o, tax;
	-- in order, so that two transactions do not wait for each other; one item in a hundred comes from another warehouse
	select array_agg(i order by i, s), array_agg(s order by i, s), bool_or(s <> w) into wanted, supply, far
		from (select tpcc_random(1, items) i, case when warehouses > 1 and random() < 0.01
			then 1 + (w + tpcc_random(1, warehouses - 1) - 1) % warehouses else w end s from generate_series(1, lines)) chosen;
	insert into orders values (w, d, o, c, now(), null, lines, (not far)::int);
	insert into new_order values (w, d, o);
	for l in 1 .. lines loop
		-- the last item of one order in a hundred does not exist
		select i_price into price from item where i_id = case when fails and l = lines then items + 1 else wanted[l] end;
		if not found then
			rollback;
			return;
		end if;
		quantity := tpcc_random(1, 10);
		update stock set s_quantity = case when s_quantity >= quantity + 10 then s_quantity - quantity else s_quantity - quantity + 91 end,
			s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supply[l] <> w)::int
			where s_w_id = supply[l] and s_i_id = wanted[l]
			returning s_quantity, (array[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[d]
			into left_over, info;
		insert into order_line values (w, d, o, l, wanted[l], supply[l], null, quantity, quantity * price, info);
		total := total + quantity * price;
	end loop;
	total := total * (1 - discount) * (1 + tax);
end $$;

-- the customer in the middle of those of a last name
create function tprocc_customer(w int, d int, name int) returns int language sql stable as $$
	select (array_agg(c_id order by c_first))[(count(*) + 1) / 2] from customer where c_w_id = w and c_d_id = d and c_last = tpcc_last_name(name)
$$;

-- name: number of a last name, or -1: the customer is c
create procedure payment(w int, d int, cw int, cd int, c int, name int, amount numeric) language plpgsql as $$
declare
	warehouse_name text;
	district_name text;
	credit text;
begin
	update warehouse set w_ytd = w_ytd + amount where w_id = w returning w_name into warehouse_name;
	update district set d_ytd = d_ytd + amount where d_w_id = w and d_id = d returning d_name into district_name;
	if name >= 0 then
		c := tprocc_customer(cw, cd, name);
	end if;
	update customer set c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1
		where c_w_id = cw and c_d_id = cd and c_id = c returning c_credit into credit;
	if credit = 'BC' then
		update customer set c_data = left(concat_ws(' ', c, cd, cw, d, w, amount, c_data), 500) where c_w_id = cw and c_d_id = cd and c_id = c;
	end if;
	insert into history values (c, cd, cw, d, w, now(), amount, warehouse_name || '    ' || district_name);
end $$;

create procedure delivery(w int, carrier int) language plpgsql as $$
declare
	o int;
	c int;
	amount numeric;
begin
	for d in 1 .. 10 loop
		select no_o_id into o from new_order where no_w_id = w and no_d_id = d order by no_o_id limit 1 for update;
		continue when not found;
		delete from new_order where no_w_id = w and no_d_id = d and no_o_id = o;
		update orders set o_carrier_id = carrier where o_w_id = w and o_d_id = d and o_id = o returning o_c_id into c;
		with l as (update order_line set ol_delivery_d = now() where ol_w_id = w and ol_d_id = d and ol_o_id = o returning ol_amount)
			select sum(ol_amount) into amount from l;
		update customer set c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = w and c_d_id = d and c_id = c;
	end loop;
end $$;

create procedure ostat(w int, d int, c int, name int) language plpgsql as $$
declare
	o int;
	balance numeric;
	lines text[];
begin
	if name >= 0 then
		c := tprocc_customer(w, d, name);
	end if;
	select c_balance into balance from customer where c_w_id = w and c_d_id = d and c_id = c;
	select o_id into o from orders where o_w_id = w and o_d_id = d and o_c_id = c order by o_id desc limit 1;
	select array_agg(concat_ws(' ', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d)) into lines
		from order_line where ol_w_id = w and ol_d_id = d and ol_o_id = o;
end $$;

create procedure slev(w int, d int, threshold int) language plpgsql as $$
declare
	next int;
	low int;
begin
	select d_next_o_id into next from district where d_w_id = w and d_id = d;
	select count(distinct s_i_id) into low from order_line join stock on s_w_id = w and s_i_id = ol_i_id
		where ol_w_id = w and ol_d_id = d and ol_o_id between next - 20 and next - 1 and s_quantity < threshold;
end $$;
