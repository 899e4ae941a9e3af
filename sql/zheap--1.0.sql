/* zheap--1.0.sql */
\echo Use "CREATE EXTENSION zheap" to load this file. \quit

CREATE FUNCTION zheap.zheap_tableam_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'zheap_tableam_handler'
LANGUAGE C STRICT;
COMMENT ON FUNCTION zheap.zheap_tableam_handler(internal) IS
	'handler of the table access method zheap';

CREATE FUNCTION zheap.zheap_undo_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'zheap_undo_handler'
LANGUAGE C STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_handler(internal) IS
	'handler of the access method of the undo relation';

CREATE ACCESS METHOD zheap TYPE TABLE HANDLER zheap.zheap_tableam_handler;
COMMENT ON ACCESS METHOD zheap IS
	'tables that update in place and keep old versions in an undo log';

CREATE ACCESS METHOD zheap_undo TYPE TABLE HANDLER zheap.zheap_undo_handler;
COMMENT ON ACCESS METHOD zheap_undo IS
	'storage of the undo log; for the relation zheap.undo only';

CREATE TABLE zheap.undo() USING zheap_undo;
COMMENT ON TABLE zheap.undo IS
	'undo log of the zheap tables of this database; holds no rows';
REVOKE ALL ON TABLE zheap.undo FROM PUBLIC;

CREATE FUNCTION zheap.zheap_undo_pending()
RETURNS integer
AS 'MODULE_PATHNAME', 'zheap_undo_pending'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_pending() IS
	'number of undo logs of this database with aborted transactions whose rows have not all been rolled back yet; 0 = none';

CREATE FUNCTION zheap.zheap_undo_skip(reset boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME', 'zheap_undo_skip'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_skip(boolean) IS
	'give up rows of aborted transactions that damaged undo does not let roll back: they stay as they are, and undo is not kept for them any more; returns the number of table pages; reset: give up all undo and rebuild the undo relation, which waits for all transactions that use zheap tables';
REVOKE ALL ON FUNCTION zheap.zheap_undo_skip(boolean) FROM PUBLIC;

CREATE FUNCTION zheap.zheap_undo_stats(
	OUT total_bytes bigint,
	OUT used_bytes bigint,
	OUT free_bytes bigint,
	OUT logs integer,
	OUT logs_pending integer,
	OUT horizon xid8,
	OUT pending_bytes bigint,
	OUT pending_transactions integer,
	OUT high_water_bytes bigint,
	OUT horizon_age bigint,
	OUT limit_bytes bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'zheap_undo_stats'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_stats() IS
	'undo log of this database; see the view zheap_stat_undo';
REVOKE ALL ON FUNCTION zheap.zheap_undo_stats() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zheap.zheap_undo_stats() TO pg_monitor;

CREATE FUNCTION zheap.zheap_undo_holders(
	OUT kind text,
	OUT pid integer,
	OUT name text,
	OUT xid xid8,
	OUT age bigint,
	OUT undo_bytes bigint,
	OUT relid oid)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'zheap_undo_holders'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_holders() IS
	'holders of undo of this database; see the view zheap_undo_holders';

CREATE FUNCTION zheap.zheap_undo_workers(
	OUT pid integer,
	OUT role text,
	OUT datid oid,
	OUT state text,
	OUT started timestamptz,
	OUT undo_bytes_total bigint,
	OUT undo_bytes_done bigint,
	OUT pages_rolled_back bigint,
	OUT errors bigint,
	OUT last_error_at timestamptz,
	OUT last_error text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'zheap_undo_workers_info'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_workers() IS
	'launcher and workers of undo; see the view zheap_stat_workers';

CREATE FUNCTION zheap.zheap_table_stats(
	OUT relid oid,
	OUT updated_in_place bigint,
	OUT updated_several_keys bigint,
	OUT moved_unique bigint,
	OUT moved_equal_key bigint,
	OUT moved_kind bigint,
	OUT moved_invalid bigint,
	OUT moved_budget bigint,
	OUT moved_share bigint,
	OUT moved_room bigint,
	OUT moved_history bigint,
	OUT stale_entries_removed bigint,
	OUT dead_entries_passed bigint,
	OUT dead_rows_removed bigint,
	OUT dead_rows_left bigint,
	OUT dead_entries_removed bigint,
	OUT dead_leaves_visited bigint,
	OUT slots_added bigint,
	OUT slots_reused bigint,
	OUT overflow_pages_added bigint,
	OUT lock_pages_added bigint,
	OUT pages_rolled_back bigint,
	OUT rows_rolled_back bigint,
	OUT pages_copied bigint,
	OUT versions_walked bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'zheap_table_stats'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_table_stats() IS
	'counts of the tables of this database; see the view zheap_stat_tables';

CREATE FUNCTION zheap.zheap_stat_tables_reset(relid oid DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'zheap_stat_tables_reset'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION zheap.zheap_stat_tables_reset(oid) IS
	'reset the counts of zheap_stat_tables to zero, those of one table or of all tables of this database';

CREATE FUNCTION zheap.zheap_cache_stats(
	OUT commit_log_lookups bigint,
	OUT commit_log_lookups_saved bigint,
	OUT process_array_lookups bigint,
	OUT process_array_lookups_saved bigint)
AS 'MODULE_PATHNAME', 'zheap_cache_stats'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_cache_stats() IS
	'numbers of look-ups of transaction statuses; see the view zheap_stat_cache';

CREATE FUNCTION zheap.zheap_stat_cache_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'zheap_stat_cache_reset'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_stat_cache_reset() IS
	'reset the counts of zheap_stat_cache to zero';

CREATE FUNCTION zheap.zheap_io_stats(
	OUT reader text,
	OUT advised bigint,
	OUT cached bigint,
	OUT hit bigint,
	OUT missed bigint,
	OUT distance double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'zheap_io_stats'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_io_stats() IS
	'blocks that were prefetched and read; see the view zheap_stat_io';

CREATE FUNCTION zheap.zheap_stat_io_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'zheap_stat_io_reset'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_stat_io_reset() IS
	'reset the counts of zheap_stat_io to zero';

CREATE FUNCTION zheap.zheap_page_header(relation regclass, block bigint)
RETURNS TABLE (
	kind text,
	lsn pg_lsn,
	checksum integer,
	flags text[],
	lower integer,
	upper integer,
	special integer,
	page_size integer,
	layout_version integer,
	prune_xid xid,
	format_version integer,
	slots integer,
	line_pointers integer,
	free_bytes integer,
	overflow_block bigint,
	table_block bigint,
	lock_pages bigint[],
	reused_xid xid8,
	all_visible boolean,
	in_map boolean,
	damage text)
AS 'MODULE_PATHNAME', 'zheap_page_header'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_page_header(regclass, bigint) IS
	'header of a page of a zheap table, of whatever kind, and what is wrong with the page';

CREATE FUNCTION zheap.zheap_page_items(relation regclass, block bigint)
RETURNS TABLE (
	lp integer,
	lp_off integer,
	lp_flags text,
	lp_len integer,
	flags text[],
	slot integer,
	natts integer,
	turn integer,
	padding integer,
	origins tid[],
	body text,
	lock_hint text,
	row_bytes bytea,
	damage text)
AS 'MODULE_PATHNAME', 'zheap_page_items'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_page_items(regclass, bigint) IS
	'line pointers and rows of a page of a zheap table, as they are on the page';

CREATE FUNCTION zheap.zheap_page_slots(relation regclass, block bigint)
RETURNS TABLE (
	slot integer,
	place text,
	slot_block bigint,
	xid xid8,
	status text,
	undo text,
	records integer)
AS 'MODULE_PATHNAME', 'zheap_page_slots'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_page_slots(regclass, bigint) IS
	'transaction slots of a page of a zheap table, those on its overflow page and lock pages among them';

CREATE FUNCTION zheap.zheap_undo_chain(relation regclass, tid tid)
RETURNS TABLE (
	version integer,
	xid xid8,
	status text,
	operation text,
	command cid,
	undo text,
	length integer,
	turn integer,
	flags text[],
	row_bytes bytea)
AS 'MODULE_PATHNAME', 'zheap_undo_chain'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_chain(regclass, tid) IS
	'versions of a row, newest first, down to one that is visible to all or the first';

CREATE FUNCTION zheap.zheap_undo_records(block bigint)
RETURNS TABLE (
	undo text,
	kind text,
	xid xid8,
	relation regclass,
	relfilenode oid,
	table_block bigint,
	lp integer,
	length integer,
	slot integer,
	takeover text,
	command cid,
	page_prev text,
	slot_prev_xid xid8,
	slot_prev text,
	row_prev_xid xid8,
	row_prev text,
	lock_mode text,
	new_tid tid,
	damage text)
AS 'MODULE_PATHNAME', 'zheap_undo_records'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_records(bigint) IS
	'records on a page of the undo relation, needed or not';

CREATE FUNCTION zheap.zheap_verify(relation regclass, toast boolean DEFAULT true)
RETURNS TABLE (
	block bigint,
	lp integer,
	kind text,
	message text)
AS 'MODULE_PATHNAME', 'zheap_verify'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION zheap.zheap_verify(regclass, boolean) IS
	'what is wrong with a zheap table, its undo, visibility map, TOAST values and indexes; no rows: nothing; toast: read all values in the TOAST table, too';

CREATE FUNCTION zheap.zheap_verify_all(toast boolean DEFAULT true)
RETURNS TABLE (
	relation regclass,
	block bigint,
	lp integer,
	kind text,
	message text)
AS 'MODULE_PATHNAME', 'zheap_verify_all'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION zheap.zheap_verify_all(boolean) IS
	'zheap_verify() of all zheap tables of this database';

REVOKE ALL ON FUNCTION zheap.zheap_page_header(regclass, bigint), zheap.zheap_page_items(regclass, bigint),
	zheap.zheap_page_slots(regclass, bigint), zheap.zheap_undo_chain(regclass, tid),
	zheap.zheap_undo_records(bigint), zheap.zheap_verify(regclass, boolean),
	zheap.zheap_verify_all(boolean) FROM PUBLIC;

CREATE VIEW zheap.zheap_stat_undo AS
	SELECT total_bytes, used_bytes AS live_bytes, pending_bytes, pending_transactions,
		free_bytes, high_water_bytes, limit_bytes, horizon, horizon_age, logs, logs_pending
	FROM zheap.zheap_undo_stats();
COMMENT ON VIEW zheap.zheap_stat_undo IS 'undo log of this database';
COMMENT ON COLUMN zheap.zheap_stat_undo.total_bytes IS 'size of the undo relation, in bytes';
COMMENT ON COLUMN zheap.zheap_stat_undo.live_bytes IS 'bytes of extents in use';
COMMENT ON COLUMN zheap.zheap_stat_undo.pending_bytes IS
	'the part of these, estimated, with aborted transactions whose rows are still to be rolled back (and with what was written behind them), or with prepared transactions';
COMMENT ON COLUMN zheap.zheap_stat_undo.pending_transactions IS
	'aborted transactions whose rows are still to be rolled back, and prepared transactions; right after a restart, the number of logs that are still to be searched';
COMMENT ON COLUMN zheap.zheap_stat_undo.free_bytes IS 'bytes of extents that were recycled and are free for use';
COMMENT ON COLUMN zheap.zheap_stat_undo.high_water_bytes IS 'greatest size that the undo relation has ever had, in bytes';
COMMENT ON COLUMN zheap.zheap_stat_undo.limit_bytes IS 'zheap.undo_max_size in bytes; null if there is no limit';
COMMENT ON COLUMN zheap.zheap_stat_undo.horizon IS 'transactions below are committed and visible to all; their undo is not needed';
COMMENT ON COLUMN zheap.zheap_stat_undo.horizon_age IS 'number of transactions from the horizon to the next transaction';
COMMENT ON COLUMN zheap.zheap_stat_undo.logs IS 'number of undo logs; each has at least one extent in use';
COMMENT ON COLUMN zheap.zheap_stat_undo.logs_pending IS 'logs with aborted transactions whose rows are still to be rolled back';

CREATE VIEW zheap.zheap_undo_holders AS
	SELECT kind, pid,
		CASE WHEN kind IN ('prepared transaction', 'rollback') THEN name END AS gid,
		CASE WHEN kind = 'replication slot' THEN name END AS slot_name,
		relid::pg_catalog.regclass AS relation,
		xid, age, undo_bytes
	FROM zheap.zheap_undo_holders();
COMMENT ON VIEW zheap.zheap_undo_holders IS 'holders of undo of this database, those that keep most first';
COMMENT ON COLUMN zheap.zheap_undo_holders.kind IS
	'backend, prepared transaction, replication slot, standby feedback (hot_standby_feedback without a slot), or rollback (rows that are still to be rolled back)';
COMMENT ON COLUMN zheap.zheap_undo_holders.pid IS 'process ID of a backend or walsender; rollback: of the backend that has the table locked; else null';
COMMENT ON COLUMN zheap.zheap_undo_holders.gid IS
	'global identifier of a prepared transaction; rollback: of the one that has the table locked; else null';
COMMENT ON COLUMN zheap.zheap_undo_holders.relation IS
	'rollback: a table whose rows could not be rolled back when that was last tried, because it was locked or a page could not be read; else null';
COMMENT ON COLUMN zheap.zheap_undo_holders.slot_name IS 'name of a replication slot, else null';
COMMENT ON COLUMN zheap.zheap_undo_holders.xid IS 'undo of this transaction and later ones is kept';
COMMENT ON COLUMN zheap.zheap_undo_holders.age IS 'number of transactions from xid to the next transaction';
COMMENT ON COLUMN zheap.zheap_undo_holders.undo_bytes IS
	'bytes of undo that this holder would keep if it were the only one, in whole extents of 256 kB; an estimate';

CREATE VIEW zheap.zheap_stat_workers AS
	SELECT w.pid, w.role, w.datid, d.datname, w.state, w.started,
		w.undo_bytes_total, w.undo_bytes_done, w.pages_rolled_back,
		w.errors, w.last_error_at, w.last_error
	FROM zheap.zheap_undo_workers() w LEFT JOIN pg_catalog.pg_database d ON d.oid = w.datid;
COMMENT ON VIEW zheap.zheap_stat_workers IS
	'launcher and workers that roll back changes of aborted transactions and discard undo, in all databases';
COMMENT ON COLUMN zheap.zheap_stat_workers.pid IS 'process ID; null if the process is being started';
COMMENT ON COLUMN zheap.zheap_stat_workers.role IS 'launcher or worker';
COMMENT ON COLUMN zheap.zheap_stat_workers.datid IS 'OID of the worker''s database';
COMMENT ON COLUMN zheap.zheap_stat_workers.datname IS 'name of the worker''s database';
COMMENT ON COLUMN zheap.zheap_stat_workers.state IS
	'starting, rolling back (changes of aborted transactions), discarding (frees undo, truncates the undo relation), marking pages (all-visible); running: the launcher';
COMMENT ON COLUMN zheap.zheap_stat_workers.started IS 'time when the worker was started';
COMMENT ON COLUMN zheap.zheap_stat_workers.undo_bytes_total IS 'bytes of undo to go through for changes to roll back, as known at the start';
COMMENT ON COLUMN zheap.zheap_stat_workers.undo_bytes_done IS
	'bytes of undo gone through so far; the launcher: by all workers since the start of the server';
COMMENT ON COLUMN zheap.zheap_stat_workers.pages_rolled_back IS
	'table pages rolled back so far (a page counts once per transaction); the launcher: by all workers since the start of the server';
COMMENT ON COLUMN zheap.zheap_stat_workers.errors IS
	'errors met while rolling back; the launcher: by all workers and VACUUM, in all databases, since the start of the server';
COMMENT ON COLUMN zheap.zheap_stat_workers.last_error_at IS 'launcher: time of the last error; null if there was none';
COMMENT ON COLUMN zheap.zheap_stat_workers.last_error IS 'launcher: database and message of the last error';

CREATE VIEW zheap.zheap_stat_tables AS
	SELECT s.relid, n.nspname AS schemaname, c.relname,
		s.updated_in_place, s.updated_several_keys,
		s.moved_unique + s.moved_equal_key + s.moved_kind + s.moved_invalid + s.moved_budget AS moved_index,
		s.moved_unique, s.moved_equal_key, s.moved_kind, s.moved_invalid, s.moved_budget,
		s.moved_share, s.moved_room, s.moved_history,
		s.stale_entries_removed, s.dead_entries_passed, s.dead_rows_removed, s.dead_rows_left,
		s.dead_entries_removed, s.dead_leaves_visited,
		s.slots_added, s.slots_reused, s.overflow_pages_added, s.lock_pages_added,
		s.pages_rolled_back, s.rows_rolled_back, s.pages_copied, s.versions_walked
	FROM zheap.zheap_table_stats() s
		JOIN pg_catalog.pg_class c ON c.oid = s.relid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace;
COMMENT ON VIEW zheap.zheap_stat_tables IS
	'counts of each table with any counts, since the last reset or, before PostgreSQL 18, the start of the server; includes aborted transactions, but not temporary tables';
COMMENT ON COLUMN zheap.zheap_stat_tables.relid IS 'OID of the table';
COMMENT ON COLUMN zheap.zheap_stat_tables.schemaname IS 'name of the table''s schema';
COMMENT ON COLUMN zheap.zheap_stat_tables.relname IS 'name of the table';
COMMENT ON COLUMN zheap.zheap_stat_tables.updated_in_place IS 'rows updated in place, without any new index entry';
COMMENT ON COLUMN zheap.zheap_stat_tables.updated_several_keys IS
	'rows updated in place, with new entries only in the indexes whose columns changed';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_index IS
	'updated rows that moved, with new entries in all indexes, because an index changed that could not get another entry of the row: sum of moved_unique, moved_equal_key, moved_kind, moved_invalid and moved_budget';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_unique IS
	'updated rows that moved because a unique index, or one of an exclusion constraint, changed';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_equal_key IS
	'updated rows that moved because the new key may be equal to the old one although the bytes of columns differ: of a type whose equal values may differ, with included columns, compressed or out of line';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_kind IS
	'updated rows that moved because of the kind of the index that changed: its access method, an expression, a predicate or a reference to whole rows';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_invalid IS
	'updated rows that moved because an index changed that is not valid: it is being built concurrently, or its build has failed';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_budget IS
	'updated rows that moved by chance, to bound the number of entries of keys that rows had before, in indexes of which such entries are not removed one by one';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_share IS
	'updated rows that moved because more indexes changed than zheap.max_changed_indexes allows';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_room IS
	'updated rows that moved because their page had no room for the new version (a lower fillfactor leaves more)';
COMMENT ON COLUMN zheap.zheap_stat_tables.moved_history IS
	'updated rows that moved because one transaction with AFTER ROW triggers had changed them very often, or because the undo of the change was too long for a page';
COMMENT ON COLUMN zheap.zheap_stat_tables.stale_entries_removed IS
	'index entries of keys that rows had before, removed by updates and by VACUUM';
COMMENT ON COLUMN zheap.zheap_stat_tables.dead_entries_passed IS
	'index entries (estimated) that index scans skipped in ranges, because only older snapshots need them';
COMMENT ON COLUMN zheap.zheap_stat_tables.dead_rows_removed IS
	'deleted or moved rows whose index entries and line pointers writers have removed (zheap.remove_dead_entries)';
COMMENT ON COLUMN zheap.zheap_stat_tables.dead_rows_left IS
	'deleted or moved rows that writers met and left to VACUUM: those with entries all over a large index, and if indexes are large, rows with several keys and those whose keys are not known any more';
COMMENT ON COLUMN zheap.zheap_stat_tables.dead_entries_removed IS
	'index entries of deleted or moved rows that writers have removed (zheap.remove_dead_entries)';
COMMENT ON COLUMN zheap.zheap_stat_tables.dead_leaves_visited IS
	'leaf pages of indexes that writers have visited to remove such entries, each with at most one WAL record';
COMMENT ON COLUMN zheap.zheap_stat_tables.slots_added IS
	'transaction slots added to pages, because the existing ones were taken';
COMMENT ON COLUMN zheap.zheap_stat_tables.slots_reused IS
	'transaction slots taken over from transactions that have committed, but that some snapshot does not see: such a snapshot then has to find a row''s modifier in undo';
COMMENT ON COLUMN zheap.zheap_stat_tables.overflow_pages_added IS
	'overflow pages made: more transaction slots for a page that has no room for them';
COMMENT ON COLUMN zheap.zheap_stat_tables.lock_pages_added IS
	'lock pages made: more transaction slots for transactions that only lock rows';
COMMENT ON COLUMN zheap.zheap_stat_tables.pages_rolled_back IS
	'pages on which changes of aborted transactions were rolled back, by any process (a page counts once per transaction, and per savepoint with a slot of its own)';
COMMENT ON COLUMN zheap.zheap_stat_tables.rows_rolled_back IS
	'rows whose version before an aborted change was restored, or that were removed, as their insertion was aborted';
COMMENT ON COLUMN zheap.zheap_stat_tables.pages_copied IS
	'pages that readers have copied, so as to read them without blocking others; a sequential scan copies each page that it reads, an index scan or a bitmap scan only where it reads several rows or needs older versions';
COMMENT ON COLUMN zheap.zheap_stat_tables.versions_walked IS
	'versions of rows before the newest that were reconstructed from undo, for old snapshots and where changes are in progress or aborted; a row changed n times since costs up to n';

CREATE VIEW zheap.zheap_stat_cache AS
	SELECT commit_log_lookups, commit_log_lookups_saved, process_array_lookups, process_array_lookups_saved
	FROM zheap.zheap_cache_stats();
COMMENT ON VIEW zheap.zheap_stat_cache IS
	'look-ups of statuses of transactions that are not visible to all yet, for rows of zheap tables, in all databases, since the start of the server or zheap_stat_cache_reset()';
COMMENT ON COLUMN zheap.zheap_stat_cache.commit_log_lookups IS
	'number of look-ups in the commit log whether a transaction has committed';
COMMENT ON COLUMN zheap.zheap_stat_cache.commit_log_lookups_saved IS
	'number of these that the session''s cache (zheap.status_cache_size) saved';
COMMENT ON COLUMN zheap.zheap_stat_cache.process_array_lookups IS
	'number of look-ups in the list of running processes whether a transaction is in progress';
COMMENT ON COLUMN zheap.zheap_stat_cache.process_array_lookups_saved IS
	'number of these that were saved, because the session''s cache or the statement''s snapshot had the answer that it is not';

CREATE VIEW zheap.zheap_stat_io AS
	SELECT reader, advised, cached, hit, missed, distance FROM zheap.zheap_io_stats();
COMMENT ON VIEW zheap.zheap_stat_io IS
	'blocks of zheap tables, in all databases, that were announced to the kernel before they were read, per kind of reader, since the start of the server or zheap_stat_io_reset(); those of bitmap scans and ANALYZE, which the server itself announces, are not counted';
COMMENT ON COLUMN zheap.zheap_stat_io.reader IS
	'index scan; sequential scan (parallel, or backward); vacuum (second pass); rollback (of aborted transactions'' rows)';
COMMENT ON COLUMN zheap.zheap_stat_io.advised IS 'blocks announced to the kernel';
COMMENT ON COLUMN zheap.zheap_stat_io.cached IS 'blocks not announced because they were found in shared buffers';
COMMENT ON COLUMN zheap.zheap_stat_io.hit IS
	'blocks, not in shared buffers, read (by readers that learn from it) while blocks were advised';
COMMENT ON COLUMN zheap.zheap_stat_io.missed IS
	'blocks, not in shared buffers, read while none was advised';
COMMENT ON COLUMN zheap.zheap_stat_io.distance IS
	'number of blocks ahead of the reader at which they were advised, on average; at most effective_io_concurrency, or maintenance_io_concurrency, of the tablespace; null if none was';

REVOKE ALL ON FUNCTION zheap.zheap_undo_holders(), zheap.zheap_undo_workers(), zheap.zheap_table_stats(),
	zheap.zheap_stat_tables_reset(oid), zheap.zheap_cache_stats(), zheap.zheap_stat_cache_reset(),
	zheap.zheap_io_stats(), zheap.zheap_stat_io_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zheap.zheap_undo_holders(), zheap.zheap_undo_workers(), zheap.zheap_table_stats(),
	zheap.zheap_cache_stats(), zheap.zheap_io_stats() TO pg_monitor, pg_read_all_stats;
GRANT EXECUTE ON FUNCTION zheap.zheap_undo_stats() TO pg_read_all_stats;
GRANT USAGE ON SCHEMA zheap TO pg_monitor, pg_read_all_stats;
GRANT SELECT ON zheap.zheap_stat_undo, zheap.zheap_undo_holders, zheap.zheap_stat_workers, zheap.zheap_stat_tables,
	zheap.zheap_stat_cache, zheap.zheap_stat_io TO pg_monitor, pg_read_all_stats;
