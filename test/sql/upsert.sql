-- INSERT ... ON CONFLICT and MERGE give heap's rows, counts and errors.
-- One session; waiting for others belongs to the isolation specs.
create table ups_t (id int primary key, n int default 0, v text unique) using zheap;
insert into ups_t values (1, 1, 'a') on conflict do nothing;
insert into ups_t values (1, 1, 'b') on conflict do nothing;
insert into ups_t values (1, 10, 'c') on conflict (id) do update set n = ups_t.n + excluded.n returning *;
insert into ups_t values (2, 10, 'a') on conflict (id) do nothing;
insert into ups_t values (2, 10, 'a') on conflict (v) do update set v = 'a2', n = 0 where ups_t.n > 100;
insert into ups_t values (2, 10, 'a') on conflict (v) do update set v = 'a2', n = 0 returning *;
insert into ups_t select g, g, 'v' || g from generate_series(1, 6) g on conflict (id) do update set n = excluded.n * 100 returning *;
table ups_t order by id;
-- the same row twice in one command
insert into ups_t values (7, 1, 'x'), (7, 2, 'y') on conflict (id) do update set n = excluded.n;
insert into ups_t values (1, 1, 'x'), (1, 2, 'y') on conflict (id) do update set n = excluded.n;
insert into ups_t values (7, 1, 'x'), (7, 2, 'y') on conflict do nothing returning *;
begin;
insert into ups_t values (1, 5, null) on conflict (id) do update set n = excluded.n;
update ups_t set n = n + 1 where id = 1;
insert into ups_t values (1, 5, null) on conflict (id) do update set n = ups_t.n + 1 returning *;
savepoint s;
delete from ups_t where id = 1;
insert into ups_t values (1, 77, null) on conflict (id) do update set n = -1 returning *;
rollback to s;
insert into ups_t values (1, 5, null) on conflict (id) do update set n = ups_t.n + 1 returning *;
commit;
begin;
insert into ups_t values (8, 8, 'gone');
rollback;
insert into ups_t values (8, 88, 'gone') on conflict (id) do update set n = -1 returning *;
begin;
delete from ups_t where id = 8;
rollback;
insert into ups_t values (8, 88, 'gone') on conflict (id) do update set n = -1 returning *;
table ups_t order by id;
do $$
begin
	for i in 1..500 loop
		insert into ups_t values (i % 20, 1, null) on conflict (id) do update set n = ups_t.n + 1;
		if i % 5 = 0 then rollback; else commit; end if;
	end loop;
end $$;
select count(*), sum(n) from ups_t;

create table ups_m (id int, n int, v text) using zheap;
create table ups_s (id int, n int) using zheap;
insert into ups_m select g, g, 'm' from generate_series(1, 10) g;
insert into ups_s select g, g * 10 from generate_series(5, 15) g;
merge into ups_m m using ups_s s on m.id = s.id
 when matched and s.id = 5 then delete
 when matched and s.id = 6 then do nothing
 when matched then update set n = m.n + s.n, v = 'matched'
 when not matched and s.id > 13 then do nothing
 when not matched then insert values (s.id, s.n, 'new');
table ups_m order by id;
insert into ups_s values (7, 1);
merge into ups_m m using ups_s s on m.id = s.id when matched then update set n = s.n;
merge into ups_m m using (select distinct id from ups_s) s on m.id = s.id when matched then delete;
table ups_m order by id;
begin;
merge into ups_m m using ups_s s on false when not matched then insert values (s.id, s.n, 'rolled back');
rollback;
select count(*) from ups_m;
drop table ups_t, ups_m, ups_s;

-- a row that an insertion has met in vain is locked for no upsert: it is passed over, as this command has changed it
create table ups_l (id int primary key, n int) using zheap;
insert into ups_l values (1, 1), (2, 2);
create function ups_taken(i int) returns bool language plpgsql volatile as $$
begin
	insert into ups_l values (i, 99);
	return false;
exception when unique_violation then
	return true;
end $$;
with u as (update ups_l set n = n + 10 where id = 1 returning id)
select t.* from u, ups_l t where t.id = u.id and ups_taken(t.id) for update of t;
table ups_l order by id;
drop function ups_taken(int);
drop table ups_l;
