-- Rows of a page that a command deletes one after the other share an undo record.  Whatever is
-- done to a zheap table here is done to a heap table, too, and both contain the same.
create table delr_z (id int primary key, a int, f text) using zheap;
create table delr_h (id int primary key, a int, f text) using heap;

create function on_both(statement text) returns void language plpgsql as $$
begin
	execute format(statement, 'delr_z');
	execute format(statement, 'delr_h');
end $$;
create function same() returns text language sql as $$
	select case when exists (select * from delr_z except select * from delr_h)
		or exists (select * from delr_h except select * from delr_z) then 'different' else 'same' end
		|| ', ' || (select count(*) from delr_z) $$;
create function fill(n int) returns void language sql as $$
	select on_both('truncate %s');
	select on_both('insert into %s select g, 0, case when g %% 7 = 0 then null else repeat(''x'', g %% 40) end from generate_series(1, ' || n || ') g') $$;

select fill(2000);
-- rolled back, as a whole and in part
begin; select on_both('delete from %s'); select same(); rollback; select same();
begin;
select on_both('delete from %s where id %% 3 = 0');
savepoint a;
select on_both('delete from %s where id %% 3 = 1');
select same();
rollback to a;
select same();
select on_both('delete from %s where id %% 5 = 0');
savepoint b;
select on_both('update %s set a = a + 1 where id %% 4 = 0');
select on_both('delete from %s where id %% 4 = 0');
rollback to b;
select on_both('delete from %s where id between 500 and 700');
select same();
rollback;
select same();

-- rows that are unlike: locked, updated or inserted by the same transaction, updated by others
begin;
select on_both('update %s set a = 1 where id %% 11 = 0');
select count(*) from (select * from delr_z where id % 13 = 0 for update) z;
select on_both('insert into %s select g, 5, null from generate_series(3001, 3100) g');
select on_both('delete from %s where id > 1000');
select same();
rollback;
select on_both('update %s set a = 2 where id %% 6 = 0');
begin;
select on_both('delete from %s where id > 1000');
select same();
rollback;
select same();

-- an old snapshot, and many changes of the pages after the run: directories
begin;
declare old cursor for select count(*), sum(id), sum(a) from delr_z;
declare rows cursor for select id, a from delr_z where id between 91 and 96 order by id;
select on_both('delete from %s where id %% 2 = 0');
declare between_them cursor for select count(*), sum(id), sum(a) from delr_z;
do $$ begin for i in 1 .. 5 loop perform on_both('update %s set a = a + 1 where id %% 4 = 1 and id < 400'); end loop; end $$;
select on_both('delete from %s where id %% 8 = 3');
do $$ begin for i in 1 .. 5 loop perform on_both('update %s set a = a + 1 where id %% 8 = 7 and id < 400'); end loop; end $$;
select on_both('delete from %s where id %% 8 = 7 and id < 200');
fetch all from old;
fetch all from rows;
fetch all from between_them;
select same();
savepoint c;
select on_both('delete from %s');
select same();
rollback to c;
select same();
rollback;
select same();

-- backwards, by an index; and to and fro
begin;
select on_both('delete from %s where id in (select id from %1$s order by id desc limit 300)');
select on_both('with pages as (select id from %s order by id %% 2, id limit 600) delete from %1$s t using pages where t.id = pages.id');
select same();
rollback;

-- what is deleted is handed on: RETURNING, row triggers, transition tables
create table delr_log (name text, id int, a int, n bigint);
create function delr_row() returns trigger language plpgsql as $$
begin insert into delr_log values (tg_name, old.id, old.a, null); return old; end $$;
create function delr_rows() returns trigger language plpgsql as $$
begin insert into delr_log select tg_name, sum(id), sum(a), count(*) from gone; return null; end $$;
create trigger delr_row after delete on delr_z for each row when (old.id <= 20) execute function delr_row();
create trigger delr_rows after delete on delr_z referencing old table as gone execute function delr_rows();
with gone as (delete from delr_z where id <= 100 returning *) select count(*), sum(id), sum(a), count(f) from gone;
select name, count(*), sum(id), sum(a), sum(n) from delr_log group by name order by name;
delete from delr_h where id <= 100;
select same();
drop trigger delr_row on delr_z;
drop trigger delr_rows on delr_z;

-- a trigger that changes the page meanwhile, in subtransactions that are rolled back or are not
create function delr_between() returns trigger language plpgsql as $$
begin
	if old.id % 10 = 1 then
		execute format('update %I set a = a + 100 where id = $1', tg_table_name) using old.id + 3;
	elsif old.id % 10 = 2 then
		begin
			execute format('update %I set a = a + 1000 where id between $1 and $1 + 5', tg_table_name) using old.id + 1;
			execute format('delete from %I where id between $1 and $1 + 20', tg_table_name) using old.id + 40;
			raise division_by_zero;
		exception when division_by_zero then null;
		end;
	elsif old.id % 10 = 6 then
		execute format('delete from %I where id between $1 and $1 + 1', tg_table_name) using old.id + 51;
	end if;
	return old;
end $$;
create trigger delr_between before delete on delr_z for each row when (pg_trigger_depth() = 0) execute function delr_between();
create trigger delr_between before delete on delr_h for each row when (pg_trigger_depth() = 0) execute function delr_between();
begin;
select on_both('delete from %s where id %% 10 in (1, 2, 3, 5, 6) and id < 1500');
select same();
rollback;
select same();
begin;
select on_both('delete from %s where id %% 10 in (1, 2, 3, 5, 6) and id < 1500');
commit;
select same();
drop trigger delr_between on delr_z;
drop trigger delr_between on delr_h;

-- the places of deleted rows used again, deleted again
select on_both('delete from %s where id %% 10 = 4');
vacuum delr_z;
select on_both('insert into %s select g, 9, repeat(''y'', 10) from generate_series(5001, 5500) g');
begin;
select on_both('delete from %s where id > 200');
select same();
rollback;
select same();
select on_both('delete from %s');
select same();

-- a run stops in the middle of a page: an error, a page that a cursor has read, a row that outlives the scan
select fill(1000);
begin;
savepoint a;
select on_both('delete from %s where 100 / (id - 500) is not null');
rollback to a;
select same();
savepoint b;
select on_both('delete from %s where id <= 20 or 100 / (id - 700) is not null');
rollback to b;
select on_both('delete from %s where id between 10 and 600');
select same();
rollback;
begin;
declare reader cursor for select id from delr_z;
fetch 1 from reader;
select on_both('delete from %s where ctid in (select ctid from %1$s order by ctid limit 30)');
fetch 1 from reader;
declare deleter cursor for select id from delr_z for update;
move 5 in deleter;
delete from delr_z where current of deleter;
fetch 1 from deleter;
select count(*), sum(id) from delr_z;
select on_both('delete from %s where id > 50');
fetch 1 from reader;
close reader;
rollback;
select same();
create function delr_in_turn() returns bigint language plpgsql as $$
declare z delr_z; n bigint := 0;
begin
	for z in select * from delr_z loop
		if z.id % 40 = 0 then
			begin
				delete from delr_z d where d.id between z.id - 20 and z.id - 1;
				if z.id % 80 = 0 then raise division_by_zero; end if;
			exception when division_by_zero then null;
			end;
		end if;
		n := n + z.id;
	end loop;
	return n;
end $$;
begin;
select delr_in_turn();
select count(*), sum(id) from delr_z;
with gone as (delete from delr_z returning *) select (select id from gone limit 1), (select f from gone offset 300 limit 1);
rollback;
select same();

-- temporary tables
create temp table delr_t (id int, f text) using zheap;
insert into delr_t select g, repeat('x', g % 30) from generate_series(1, 1000) g;
begin;
delete from delr_t where id % 3 > 0;
savepoint a;
delete from delr_t where id % 2 = 0;
rollback to a;
select count(*), sum(id) from delr_t;
rollback;
select count(*), sum(id) from delr_t;

drop table delr_z, delr_h, delr_log;
drop function on_both, same, fill, delr_row, delr_rows, delr_between, delr_in_turn;
