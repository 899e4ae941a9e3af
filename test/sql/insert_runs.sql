-- Rows that a command adds one after the other share an undo record, and are put behind each
-- other without looking for a place: whatever comes in between ends that, and each row goes with
-- its own (sub)transaction and command.
create table runs_t (id int, who text) using zheap;

create function runs_show() returns table (who text, rows bigint, ids bigint) language sql as
	$$ select who, count(*), sum(id) from runs_t group by who order by who $$;

-- all of them gone, all of them there
begin;
insert into runs_t select g, 'gone' from generate_series(1, 2000) g;
select * from runs_show();
rollback;
insert into runs_t select g, 'there' from generate_series(1, 2000) g;
select * from runs_show();

-- a function that inserts into the same table meanwhile, in commands and subtransactions of its own
create function runs_between(i int) returns int language plpgsql as $$
begin
	if i % 3 = 0 then
		insert into runs_t values (i, 'between');
	elsif i % 3 = 1 then
		begin
			insert into runs_t values (i, 'undone');
			insert into runs_t select g, 'undone, several' from generate_series(1, 5) g;
			raise division_by_zero;
		exception when division_by_zero then null;
		end;
	else
		begin
			insert into runs_t values (i, 'subtransaction');
		exception when division_by_zero then null;
		end;
	end if;
	return i;
end $$;
insert into runs_t select runs_between(g), 'around' from generate_series(1, 900) g;
select * from runs_show();

-- a command does not see its own rows, the next one does
insert into runs_t select id, 'twice' from runs_t where who = 'around';
with made as (insert into runs_t select g, 'made' from generate_series(1, 500) g returning id)
	select (select count(*) from made), (select count(*) from runs_t where who = 'made');
select * from runs_show() where who in ('twice', 'made');

-- rows of two tables in turn; a trigger that changes what was just inserted
create table runs_u (like runs_t) using zheap;
create function runs_copy() returns trigger language plpgsql as $$
begin
	insert into runs_u values (new.id, 'copied');
	if new.id % 4 = 0 then
		delete from runs_t where id = new.id and who = 'traced';
	end if;
	return null;
end $$;
create trigger runs_copied after insert on runs_t for each row when (new.who = 'traced') execute function runs_copy();
insert into runs_t select g, 'traced' from generate_series(1, 600) g;
select * from runs_show() where who = 'traced';
select who, count(*), sum(id) from runs_u group by who;
drop trigger runs_copied on runs_t;

-- savepoints between commands, and within the same page
begin;
insert into runs_u select g, 'first' from generate_series(1, 10) g;
savepoint a;
insert into runs_u select g, 'second' from generate_series(1, 300) g;
savepoint b;
insert into runs_u select g, 'third' from generate_series(1, 10) g;
rollback to b;
insert into runs_u select g, 'fourth' from generate_series(1, 10) g;
rollback to a;
insert into runs_u select g, 'fifth' from generate_series(1, 10) g;
commit;
select who, count(*), sum(id) from runs_u group by who order by who;

-- cursors see what was there when they were opened
begin;
insert into runs_u select g, 'seen' from generate_series(1, 5) g;
declare c cursor for select count(*) from runs_u where who in ('seen', 'unseen');
insert into runs_u select g, 'unseen' from generate_series(1, 5) g;
fetch c;
rollback;

-- fillfactor counts, and so do deleted rows' places
create table runs_half (id int, pad char(100)) using zheap with (fillfactor = 50);
insert into runs_half select g, 'x' from generate_series(1, 400) g;
select max(n) < 45 as pages_are_half_full from
	(select count(*) n from runs_half group by (ctid::text::point)[0]) s;
delete from runs_half where id % 2 = 0;
vacuum runs_half;
insert into runs_half select g, 'y' from generate_series(401, 600) g;
select count(*), count(distinct id), sum(id) from runs_half;

-- long and short rows, and some that are stored out of line
create table runs_long (id int, body text) using zheap;
alter table runs_long alter body set storage external;
insert into runs_long select g, repeat('z', (g * 997) % 9000) from generate_series(1, 300) g;
select count(*), sum(length(body)), count(distinct (ctid::text::point)[0]) < 120 as dense from runs_long;

-- unlogged, temporary, and a table that was made by the same transaction
create unlogged table runs_unlogged (id int) using zheap;
insert into runs_unlogged select generate_series(1, 1000);
create temp table runs_temp (id int) using zheap;
insert into runs_temp select generate_series(1, 1000);
begin;
create table runs_new (id int) using zheap;
insert into runs_new select generate_series(1, 1000);
truncate runs_new;
insert into runs_new select generate_series(1, 500);
commit;
select (select count(*) from runs_unlogged), (select count(*) from runs_temp), (select count(*) from runs_new);

-- serializable
begin isolation level serializable;
insert into runs_new select g from generate_series(501, 700) g;
select count(*), count(distinct id) from runs_new;
commit;

drop table runs_t, runs_u, runs_half, runs_long, runs_unlogged, runs_temp, runs_new;
drop function runs_show, runs_between, runs_copy;
