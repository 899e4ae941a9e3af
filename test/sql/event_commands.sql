-- What AFTER ROW events say of the command that made their row, where the rows of several commands share a page.
-- The same commands run with heap and zheap; what the events noted must be the same.
create table evc_log (am text, kind text, id int, command cid, n int);
create function evc_note() returns trigger language plpgsql as
	$$ begin insert into evc_log values (tg_argv[0], tg_argv[1], new.id, new.cmin, new.n); return null; end $$;
create table evc_par (id int primary key) using zheap;
insert into evc_par select generate_series(1, 3);
create function evc_make(am text) returns void language plpgsql as $$
begin
	execute format('create table evc_%1$s (id int, n int, par int references evc_par) using %1$s', am);
	execute format('create trigger a after insert on evc_%1$s for each row execute function evc_note(%1$L, ''at once'')', am);
	execute format('create constraint trigger d after insert on evc_%1$s deferrable initially deferred
		for each row when (new.id %% 2 = 1) execute function evc_note(%1$L, ''late'')', am);
end $$;
create function evc_run(am text) returns void language plpgsql as $$
begin
	execute format('insert into evc_%s select i, 0, 1 + i %% 3 from generate_series(1, 20) i', am);
	execute format('insert into evc_%s values (21, 0, 1)', am);
	begin
		execute format('insert into evc_%s values (22, 1, 2), (23, 1, 3)', am);
		-- those two are rolled back, and these take their places, perhaps
		perform 1 / 0;
	exception when division_by_zero then
		execute format('insert into evc_%s values (24, 2, 3), (25, 2, 2)', am);
	end;
	begin
		execute format('insert into evc_%s values (26, 3, 3), (27, 3, 2)', am);
	exception when division_by_zero then
		null;
	end;
	execute format('update evc_%s set n = 10 where id %% 4 = 0', am);
	execute format('insert into evc_%1$s select id + 100, n, par from evc_%1$s where id between 19 and 24', am);
	execute format('delete from evc_%s where id = 26', am);
	execute format('insert into evc_%1$s values (31, 0, 1), (32, 0, 2)', am);
end $$;
select evc_make('heap'), evc_make('zheap');
select evc_run('heap');
select evc_run('zheap');
select am, kind, count(*), count(distinct command::text) from evc_log group by 1, 2 order by 1, 2;
select kind, id, command, n from evc_log where am = 'heap' except select kind, id, command, n from evc_log where am = 'zheap';
select kind, id, command, n from evc_log where am = 'zheap' except select kind, id, command, n from evc_log where am = 'heap';
-- a row that was changed after its event was queued is not looked up in the other table any more, one that was not is
create table evc_ref (id int, par int references evc_par deferrable initially deferred) using zheap;
begin;
insert into evc_ref select i, 50 + i from generate_series(1, 10) i;
update evc_ref set par = 1 where id <= 5;
delete from evc_ref where id > 5;
commit;
begin;
insert into evc_ref select i, 50 + i from generate_series(11, 20) i;
update evc_ref set par = 1 where id <> 17;
commit;
begin;
insert into evc_ref values (21, 1), (22, 60);
savepoint s;
update evc_ref set par = 2 where id = 22;
rollback to s;
commit;
select count(*), min(par), max(par) from evc_ref;
drop table evc_ref, evc_heap, evc_zheap, evc_par, evc_log;
drop function evc_make, evc_run, evc_note;
