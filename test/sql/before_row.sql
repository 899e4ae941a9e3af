-- BEFORE ROW triggers that change, delete or lock the row in hand or others of the same command; order of rows decides as on heap.
-- Where the order of rows matters, both orders are tried: heap's order depends on earlier updates, so tables here are filled anew.
create table bef_t (id int primary key, parent int, n int default 0, v text) using zheap;
create function bef_children() returns trigger language plpgsql as $$
begin
	if tg_op = 'INSERT' then
		update bef_t set n = n + 1 where id = new.parent;
		return new;
	end if;
	update bef_t set n = n - 1 where id = old.parent;
	return old;
end $$;
create procedure bef_fill(ids int[]) language plpgsql as $$
begin
	alter table bef_t disable trigger all;
	truncate bef_t;
	for i in 1 .. cardinality(ids) loop
		insert into bef_t values (ids[i], nullif(ids[i] / 10, 0));
	end loop;
	alter table bef_t enable trigger all;
end $$;
create trigger del before delete on bef_t for each row execute function bef_children();
create trigger ins before insert on bef_t for each row execute function bef_children();
-- parents first: each is gone before its children count down
call bef_fill('{1,11,12,111}');
delete from bef_t;
select * from bef_t order by id;
-- children first: they change their parents before those are deleted
call bef_fill('{111,11,12,1}');
delete from bef_t;
select * from bef_t order by id;
call bef_fill('{11,1,12}');
delete from bef_t where id < 12;
delete from bef_t where id > 10;
delete from bef_t;
select * from bef_t order by id;
insert into bef_t values (1, null), (11, 1), (12, 1), (111, 11);
insert into bef_t select 110 + g, 11 from generate_series(2, 4) g;
select id, n from bef_t order by id;
drop trigger del on bef_t;
drop trigger ins on bef_t;

-- an UPDATE whose trigger has changed, deleted or locked the row in hand, or the next one
create function bef_do() returns trigger language plpgsql as $$
declare what text := current_setting('bef.what'); r record;
begin
	if pg_trigger_depth() > 1 then
		if tg_op = 'DELETE' then return old; end if;
		return new;
	end if;
	if tg_op = 'UPDATE' then raise notice '% % -> %', what, old, new; else raise notice '% %', what, old; end if;
	execute what using old.id;
	if tg_op = 'DELETE' then return old; end if;
	return new;
end $$;
create trigger b before update or delete on bef_t for each row execute function bef_do();
create procedure bef_try(command text) language plpgsql as $$
declare r text; n bigint;
begin
	begin
		execute command;
		get diagnostics n = row_count;
		raise notice '% rows', n;
	exception when others then
		raise notice '% %', sqlstate, sqlerrm;
	end;
	select string_agg(t::text, ' ' order by id) into r from bef_t t;
	raise notice '%', r;
end $$;
create procedure bef_all(what text) language plpgsql as $$
begin
	perform set_config('bef.what', what, false);
	call bef_fill('{1,2,3}');
	call bef_try('update bef_t set v = ''outer''');
	call bef_fill('{1,2,3}');
	call bef_try('delete from bef_t');
	call bef_fill('{1,2,3}');
	call bef_try('insert into bef_t values (2, 0, 0, ''x'') on conflict (id) do update set v = ''upsert''');
	call bef_fill('{1,2,3}');
	call bef_try('merge into bef_t t using (values (1), (2)) x (id) on t.id = x.id when matched and t.id = 1 then update set v = ''merged'' when matched then delete');
	call bef_fill('{1,2,3}');
	call bef_try('with u as (update bef_t set v = ''cte'' where id = 1 returning *) update bef_t set n = bef_t.n + 100 from u where bef_t.id = u.id + 1');
end $$;
call bef_all('update bef_t set n = n + 1 where id = $1');
call bef_all('update bef_t set n = n + 1 where id = $1 + 1');
call bef_all('update bef_t set id = id + 10 where id = $1');
call bef_all('update bef_t set id = id + 10 where id = $1 + 1');
call bef_all('delete from bef_t where id = $1');
call bef_all('delete from bef_t where id = $1 + 1');
call bef_all('select from bef_t where id = $1 for update');
call bef_all('select from bef_t for no key update');
call bef_all('insert into bef_t values ($1 + 100, $1)');
-- the trigger's own change is undone before the row's turn
create function bef_undo() returns trigger language plpgsql as $$
begin
	begin
		update bef_t set n = 99, v = 'undone' where id = old.id;
		delete from bef_t where id = old.id + 1;
		raise exception 'undo';
	exception when raise_exception then null;
	end;
	if tg_op = 'DELETE' then return old; end if;
	return new;
end $$;
drop trigger b on bef_t;
create trigger b before update or delete on bef_t for each row when (pg_trigger_depth() = 0) execute function bef_undo();
call bef_fill('{1,2,3}');
update bef_t set n = n + 1 returning *;
update bef_t set id = id + 1 where id = 3 returning *;
delete from bef_t where id < 3 returning *;
select * from bef_t;
drop table bef_t;
drop function bef_children, bef_do, bef_undo;
drop procedure bef_fill, bef_try, bef_all;
