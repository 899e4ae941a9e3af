-- TPC-C: the consistency conditions 1 to 12 of the specification, those that are violated.
create function tpcc_check() returns setof text language sql stable as $$
	select 'warehouse ' || w_id || ': 1' from warehouse where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id)
	union all
	select 'district ' || d_w_id || ', ' || d_id || ': 2' from district where d_next_o_id - 1 <> (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id)
	union all
	-- deliveries that pass by locked orders may leave gaps; still none may be there that has been delivered
	select 'new order ' || no_o_id || ': 3, 5' from new_order join orders on o_w_id = no_w_id and o_d_id = no_d_id and o_id = no_o_id where o_carrier_id is not null
	union all
	select 'order ' || o_id || ': 5' from orders where o_carrier_id is null
		and not exists (select from new_order where no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id)
	union all
	select 'district ' || o_w_id || ', ' || o_d_id || ': 4' from (select o_w_id, o_d_id, sum(o_ol_cnt) n from orders group by 1, 2) o
		full join (select ol_w_id, ol_d_id, count(*) n from order_line group by 1, 2) l on (o_w_id, o_d_id) = (ol_w_id, ol_d_id) where o.n is distinct from l.n
	union all
	select 'order ' || o_id || ': 6' from orders left join (select ol_w_id, ol_d_id, ol_o_id, count(*) n from order_line group by 1, 2, 3) l
		on (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id) where n is distinct from o_ol_cnt
	union all
	select 'order ' || o_id || ': 7' from orders join order_line on (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id)
		where (o_carrier_id is null) <> (ol_delivery_d is null)
	union all
	select 'warehouse ' || w_id || ': 8' from warehouse where w_ytd <> (select sum(h_amount) from history where h_w_id = w_id)
	union all
	select 'district ' || d_w_id || ', ' || d_id || ': 9' from district where d_ytd <> (select sum(h_amount) from history where h_w_id = d_w_id and h_d_id = d_id)
	union all
	select 'customer ' || c_id || ': 10' from customer
		left join (select o_w_id w, o_d_id d, o_c_id c, sum(ol_amount) s from orders join order_line on (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id)
			where ol_delivery_d is not null group by 1, 2, 3) o on (o.w, o.d, o.c) = (c_w_id, c_d_id, c_id)
		left join (select h_c_w_id w, h_c_d_id d, h_c_id c, sum(h_amount) s from history group by 1, 2, 3) h on (h.w, h.d, h.c) = (c_w_id, c_d_id, c_id)
		where c_balance <> coalesce(o.s, 0) - coalesce(h.s, 0)
	union all
	select 'customer ' || c_id || ': 12' from customer
		left join (select o_w_id w, o_d_id d, o_c_id c, sum(ol_amount) s from orders join order_line on (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id)
			where ol_delivery_d is not null group by 1, 2, 3) o on (o.w, o.d, o.c) = (c_w_id, c_d_id, c_id)
		where c_balance + c_ytd_payment <> coalesce(o.s, 0)
$$;
