-- plpgsql exception blocks in loops: rows changed in undone blocks are as before, those of kept blocks stay.
-- Thousands of subtransactions over one page; totals are computed beside the table.
create table exc_t (id int primary key, n int, v text) using zheap;
insert into exc_t select g, 0, 'v' from generate_series(1, 50) g;
do $$
declare kept int[] := array_fill(0, array[50]); k int; wrong int;
begin
	for i in 1..5000 loop
		k := (i * 7) % 50 + 1;
		begin
			update exc_t set n = n + i, v = 'round ' || i where id = k;
			if i % 3 = 0 then
				raise exception 'undo';
			end if;
			kept[k] := kept[k] + i;
		exception when raise_exception then
			null;
		end;
	end loop;
	select count(*) into wrong from exc_t where n <> kept[id];
	raise notice 'wrong before commit: %', wrong;
end $$;
select count(*), sum(n) from exc_t;
select sum(i) filter (where i % 3 <> 0) as expected from generate_series(1, 5000) i;
-- nested blocks: the inner kept and the outer undone, and the other way round
do $$
begin
	for i in 1..500 loop
		begin
			update exc_t set n = 0 where id = i % 50 + 1;
			begin
				update exc_t set n = i where id = i % 50 + 1;
				delete from exc_t where id = (i + 1) % 50 + 1;
				if i % 2 = 0 then raise exception 'inner'; end if;
			exception when others then
				update exc_t set v = 'inner undone' where id = i % 50 + 1;
			end;
			if i % 5 <> 0 then raise exception 'outer'; end if;
			insert into exc_t values ((i + 1) % 50 + 1, -i, 'back') on conflict do nothing;
		exception when others then
			null;
		end;
	end loop;
end $$;
select count(*), sum(n), count(*) filter (where v = 'inner undone') as inner, count(*) filter (where v = 'back') as back from exc_t;
-- inserts: half of them undone, keys reused at once
create function exc_upsert(k int) returns text language plpgsql as $$
begin
	insert into exc_t values (k, 1, 'inserted');
	return 'inserted';
exception when unique_violation then
	update exc_t set n = n + 1, v = 'updated' where id = k;
	return 'updated';
end $$;
select exc_upsert(100 + g % 40), count(*) from generate_series(1, 1000) g group by 1 order by 1;
select count(*), sum(n) from exc_t where id >= 100;
do $$
begin
	for i in 1..2000 loop
		begin
			insert into exc_t values (500, i, 'tried');
			raise exception 'undo';
		exception when raise_exception then null;
		end;
	end loop;
	insert into exc_t values (500, 0, 'at last');
end $$;
select * from exc_t where id >= 500;
-- errors of many kinds from within statements
do $$
declare msg text := '';
begin
	for i in 1..5 loop
		begin
			update exc_t set n = i where id = 1;
			case i
				when 1 then update exc_t set n = 1 / (n - n);
				when 2 then insert into exc_t values (1, 1, 'dup');
				when 3 then update exc_t set v = v::int::text;
				when 4 then execute 'update exc_t set nonsense = 1';
				else update exc_t set id = 2 where id in (1, 3);
			end case;
		exception when others then
			msg := msg || ' ' || sqlstate;
		end;
	end loop;
	raise notice '%', msg;
end $$;
select n from exc_t where id = 1;
-- the whole rolled back after all
create temp table exc_before as select * from exc_t;
begin;
do $$
begin
	for i in 1..3000 loop
		begin
			update exc_t set n = i, v = repeat('x', i % 50) where id = i % 50 + 1;
			if i % 2 = 0 then raise exception 'undo'; end if;
		exception when raise_exception then null;
		end;
	end loop;
end $$;
select count(*) from exc_t t join exc_before b using (id) where t.n <> b.n;
rollback;
select count(*) from exc_t t full join exc_before b using (id) where row(t.n, t.v) is distinct from row(b.n, b.v);
-- in transactions of a procedure
create procedure exc_proc() language plpgsql as $$
begin
	for i in 1..200 loop
		begin
			update exc_t set n = n + 1;
			if i % 4 = 0 then raise exception 'undo'; end if;
		exception when raise_exception then null;
		end;
		if i % 10 = 0 then rollback; elsif i % 3 = 0 then commit; end if;
	end loop;
	rollback;
end $$;
call exc_proc();
select distinct t.n - b.n as added from exc_t t join exc_before b using (id);
drop table exc_t, exc_before;
drop function exc_upsert;
drop procedure exc_proc;
