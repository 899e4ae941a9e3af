-- WAL records are described in words: operation, flags and takeover have names
create extension pg_walinspect;
create table wal_described (id int, v text) using zheap;
set synchronous_commit = on;
select pg_current_wal_insert_lsn() as start \gset
insert into wal_described values (1, 'a');
update wal_described set v = 'b';
create unique index on wal_described (v);
update wal_described set v = 'c';
begin;
select id from wal_described for share;
delete from wal_described;
commit;
select record_type, bool_and(description ~ '^off: \d+, slot: \d+, flags: \[[A-Z_]+(, [A-Z_]+)*\], log: \d+(, block: \d+, at: \d+)?, takeover: (own|free|all visible|reused), cid: \d+(, rows: \d+)?$') as in_words
	from pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn())
	where resource_manager = 'zheap' and record_type in ('INSERT', 'UPDATE', 'DELETE', 'LOCK') group by 1 order by 1;
select bool_and(description ~ '^off: \d+, slot: \d+, flags: \[[A-Z_]+(, [A-Z_]+)*\], log: \d+(, block: \d+, at: \d+)?, takeover: [a-z ]+, cid: \d+, new off: \d+, slot: \d+(, takeover: [a-z ]+)?, prefix: \d+, suffix: \d+$') as moved_in_words
	from pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn()) where resource_manager = 'zheap' and record_type = 'MOVE';
-- the undo layer's, and those that change next to nothing
select bool_and(record_type ~ '^[A-Z_]+$' and description ~ '^[a-z ]+: [^:]+(, [a-z ]+: [^:]+)*') as in_words
	from pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn()) where resource_manager = 'zheap';
reset synchronous_commit;
drop table wal_described;
drop extension pg_walinspect;
