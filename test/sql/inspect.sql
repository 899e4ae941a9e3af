-- Functions that look inside: headers of pages, rows, transaction slots, versions, undo records; who may call them, and for what.
-- One session, each scene in a transaction, so that what is shown does not depend on others; several sessions, damage and standbys: test/t/091_inspection.pl.
set zheap.initial_slots = 4;
create table ins (id int primary key, n int, v text) using zheap;
create table ins_heap (id int) using heap;
create table ins_parts (id int) partition by range (id);
create view ins_view as select 1 as one;
create temporary table ins_own (id int, n int) using zheap;

create function ins_versions(id_of int) returns table (version int, ours boolean, status text, operation text, command int, on_page boolean, length int, turn int, flags text[], v text)
language sql as $$
	select c.version, c.xid = pg_current_xact_id(), c.status, c.operation, c.command::text::int, c.undo is null, c.length, c.turn, c.flags,
		encode(c.row_bytes, 'escape')
	  from ins, zheap.zheap_undo_chain('ins', ins.ctid) c where ins.id = id_of order by c.version $$;

-- what is no page of rows
select * from zheap.zheap_page_header('ins', 0);
insert into ins values (1, 10, 'one'), (2, 20, null), (3, 30, 'three');
select kind, flags, lower, upper, special, page_size, layout_version, prune_xid, format_version, slots, line_pointers, free_bytes,
	overflow_block, table_block, lock_pages, reused_xid, all_visible, in_map, damage
  from zheap.zheap_page_header('ins', 0);

-- rows as inserted, updated in place, longer and shorter, deleted, moved, locked
begin;
insert into ins values (4, 40, 'four'), (5, 50, 'five'), (6, null, null);
update ins set n = 21 where id = 2;
update ins set v = 'three, and longer' where id = 3;
update ins set v = '3' where id = 3;
delete from ins where id = 4;
update ins set id = 50 where id = 5;
select id from ins where id = 1 for no key update;
select lp, lp_flags, lp_len, flags, slot, natts, turn, padding, origins, body, lock_hint, row_bytes, damage
  from zheap.zheap_page_items('ins', 0);
select slot, place, slot_block, xid = pg_current_xact_id() as ours, status, undo is not null as has_undo, records
  from zheap.zheap_page_slots('ins', 0) where status = 'in progress';

-- what a row was
select version, ours, operation, on_page, length, turn, flags from ins_versions(3) where version < 3;
select version, ours, operation, on_page, length, turn, flags from ins_versions(6);
select count(*), bool_and(v like '%one%') from ins_versions(1);
-- the undo pointers lead to records that say the same
select r.kind, r.xid = pg_current_xact_id() as ours, r.relation, r.table_block, r.lp, r.lock_mode, r.new_tid, r.damage
  from zheap.zheap_page_slots('ins', 0) s, zheap.zheap_undo_records(split_part(s.undo, '/', 1)::bigint) r
 where s.xid = pg_current_xact_id() and r.undo = s.undo;
rollback;

-- savepoints: each part has a transaction id of its own, and what was rolled back is told of until somebody rolls back the page; for the
-- lock no worker can
begin;
lock table ins in access exclusive mode;
update ins set n = 1 where id = 1;
savepoint a;
update ins set n = 2 where id = 1;
savepoint b;
update ins set n = 3 where id = 1;
rollback to b\; select version, status, operation, on_page, turn from ins_versions(1) where version < 4;
select count(distinct c.xid) = count(c.xid) as all_different, count(c.xid) > 1 as several from zheap.zheap_undo_chain('ins', '(0,1)') c where version < 4;
rollback;

-- a temporary table, whose undo is in memory
begin;
insert into ins_own values (1, 1);
update ins_own set n = 2;
update ins_own set n = 3;
select version, operation, status, undo is null as on_page, row_bytes from zheap.zheap_undo_chain('ins_own', '(0,1)');
select kind, line_pointers, damage from zheap.zheap_page_header('ins_own', 0);
commit;

-- errors
select zheap.zheap_page_header('ins_heap', 0);
select zheap.zheap_page_items('ins_pkey', 0);
select zheap.zheap_page_slots('ins_parts', 0);
select zheap.zheap_undo_chain('ins_view', '(0,1)');
select zheap.zheap_page_header('pg_class', 0);
select zheap.zheap_page_header('zheap.undo', 0);
select zheap.zheap_page_header(0, 0);
select zheap.zheap_page_header('ins', -1);
select zheap.zheap_page_items('ins', 1);
select zheap.zheap_page_slots('ins', 4294967296);
select zheap.zheap_undo_chain('ins', '(1,1)');
select zheap.zheap_undo_chain('ins', '(0,0)');
select zheap.zheap_undo_chain('ins', '(0,400)');
select zheap.zheap_undo_records(0);
select zheap.zheap_undo_records(1);
select zheap.zheap_undo_records(16);
select zheap.zheap_undo_records(17);
select zheap.zheap_undo_records(-1);
select zheap.zheap_page_header(null, 0), zheap.zheap_undo_records(null);
\set VERBOSITY sqlstate
select zheap.zheap_page_header('ins_heap', 0);
select zheap.zheap_page_header(0, 0);
select zheap.zheap_page_items('ins', 1);
select zheap.zheap_undo_records(0);
select zheap.zheap_undo_records(4294967295);
\set VERBOSITY default

-- privileges
create role ins_reader;
grant usage on schema zheap to ins_reader;
set role ins_reader;
select zheap.zheap_page_header('ins', 0);
select zheap.zheap_page_items('ins', 0);
select zheap.zheap_page_slots('ins', 0);
select zheap.zheap_undo_chain('ins', '(0,1)');
select zheap.zheap_undo_records(32);
reset role;
grant execute on function zheap.zheap_page_items(regclass, bigint) to ins_reader;
set role ins_reader;
select count(*) > 0 from zheap.zheap_page_items('ins', 0);
reset role;
-- no rows would say that nothing is wrong
select * from zheap.zheap_verify(to_regclass('ins_no_such_table'));
select * from zheap.zheap_verify('ins', null);
select * from zheap.zheap_verify_all(null);
drop owned by ins_reader;
drop role ins_reader;
drop function ins_versions;
drop view ins_view;
drop table ins, ins_heap, ins_parts, ins_own;
