-- Foreign keys: every action, immediate and deferred, self-referencing, on partitions; also after several changes of one row.
\set VERBOSITY terse
create table fks_p (id int primary key, n int default 0) using zheap;
create table fks_c (id int primary key, p int default 1, n int default 0) using zheap;
create procedure fks_fill() language sql as $$
	truncate fks_p, fks_c;
	insert into fks_p select g from generate_series(1, 5) g;
	insert into fks_c select g, g from generate_series(1, 5) g;
$$;
-- 18 has words of its own for RESTRICT
create function fks_words(message text) returns text return replace(message, ' RESTRICT setting of', '');
create procedure fks_try(action text) language plpgsql as $$
declare r text;
begin
	execute 'alter table fks_c add constraint fk foreign key (p) references fks_p ' || action;
	call fks_fill();
	begin
		update fks_p set n = n + 1;
		update fks_c set n = n + 1;
		update fks_p set id = 12 where id = 2;
		raise notice '%: update done', action;
	exception when others then raise notice '%: update %', action, fks_words(sqlerrm);
	end;
	begin
		delete from fks_p where id = 3;
		raise notice '%: delete done', action;
	exception when others then raise notice '%: delete %', action, fks_words(sqlerrm);
	end;
	select string_agg(c::text, ' ' order by c) into r from fks_c c;
	raise notice '%', r;
	alter table fks_c drop constraint fk;
end $$;
call fks_try('');
call fks_try('on update restrict on delete restrict');
call fks_try('on update cascade on delete cascade');
call fks_try('on update set null on delete set null');
call fks_try('on update set default on delete set default');
call fks_try('on delete set null (p)');
-- deferred: judged at the end, by the versions that are there then
alter table fks_c add constraint fk foreign key (p) references fks_p deferrable initially deferred;
call fks_fill();
begin;
insert into fks_c values (6, 66);
update fks_c set n = 1 where id = 6;
update fks_c set n = 2 where id = 6;
commit;
begin;
insert into fks_c values (6, 66);
update fks_c set p = 5 where id = 6;
commit;
begin;
update fks_c set p = 77 where id = 1;
update fks_c set p = 1 where id = 1;
update fks_c set n = 3 where id = 1;
commit;
begin;
insert into fks_c values (7, 88);
savepoint s;
update fks_c set p = 5 where id = 7;
rollback to s;
commit;
begin;
insert into fks_c values (7, 88);
savepoint s;
update fks_c set p = 5 where id = 7;
release s;
commit;
begin;
update fks_p set id = 50 where id = 5;
update fks_p set n = 1 where id = 50;
update fks_p set id = 5 where id = 50;
commit;
begin;
delete from fks_p where id = 5;
insert into fks_p values (5);
set constraints all immediate;
delete from fks_p where id = 5;
rollback;
-- a row of this very transaction must be checked even if its key does not change
begin;
insert into fks_c values (8, 99);
update fks_c set n = 1 where id = 8;
set constraints fk immediate;
rollback;
begin;
savepoint s;
insert into fks_c values (8, 99);
release s;
update fks_c set n = 1 where id = 8;
commit;
select * from fks_c order by id;
drop table fks_c, fks_p;
drop procedure fks_fill, fks_try;
-- self-referencing
create table fks_s (id int primary key, up int references fks_s on update cascade on delete cascade, n int default 0) using zheap;
insert into fks_s values (1, 1), (2, 1), (3, 2), (4, 3);
update fks_s set n = n + 1;
update fks_s set id = id + 10;
select * from fks_s order by id;
begin;
update fks_s set n = n + 1;
update fks_s set id = 20 where id = 12;
update fks_s set up = 14 where id = 11;
savepoint s;
update fks_s set up = 99 where id = 11;
rollback to s;
delete from fks_s where id = 20;
select * from fks_s order by id;
rollback;
select * from fks_s order by id;
drop table fks_s;
-- many changes of a referenced row and of a referencing one
create table fks_p (id int primary key, n int default 0) using zheap;
create table fks_c (id int primary key, p int references fks_p on update cascade, n int default 0) using zheap;
insert into fks_p values (1), (2);
insert into fks_c values (1, 1), (2, 2);
begin;
do $$ begin for i in 1 .. 100 loop
	update fks_p set n = i where id = 1;
	update fks_c set n = i, p = i % 2 + 1 where id = 1;
end loop; end $$;
update fks_p set id = 100 where id = 1;
commit;
select * from fks_c order by id;
select * from fks_p order by id;
insert into fks_c values (3, 3);
drop table fks_c, fks_p;
-- partitioned on both sides; rows that change partition
create table fks_pp (id int primary key, n int) partition by range (id);
create table fks_pp1 partition of fks_pp for values from (0) to (10) using zheap;
create table fks_pp2 partition of fks_pp for values from (10) to (20) using zheap;
create table fks_pc (id int, p int references fks_pp on update cascade on delete cascade deferrable initially deferred) partition by list (p);
create table fks_pc1 partition of fks_pc for values in (1, 2) using zheap;
create table fks_pc2 partition of fks_pc default using zheap;
insert into fks_pp values (1, 1), (2, 2), (11, 11);
insert into fks_pc values (1, 1), (2, 2), (3, 11);
begin;
update fks_pp set n = n + 1;
update fks_pp set id = id + 10 where id = 2;
update fks_pp set n = n + 1;
commit;
select tableoid::regclass, * from fks_pp order by id;
select tableoid::regclass, * from fks_pc order by id;
delete from fks_pp where id = 11;
update fks_pc set p = 3 where id = 1;
select tableoid::regclass, * from fks_pc order by id;
drop table fks_pc, fks_pp;
