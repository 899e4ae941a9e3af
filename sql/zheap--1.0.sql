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
	'number of undo logs of this database whose aborted transactions have not all been put back yet; 0 = all settled';

CREATE FUNCTION zheap.zheap_undo_stats(
	OUT total_bytes bigint,
	OUT used_bytes bigint,
	OUT free_bytes bigint,
	OUT logs integer,
	OUT logs_pending integer,
	OUT horizon xid8)
RETURNS record
AS 'MODULE_PATHNAME', 'zheap_undo_stats'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION zheap.zheap_undo_stats() IS
	'undo log of this database: total_bytes = size of the undo relation in bytes; used_bytes = extents in use; free_bytes = extents free for reuse; logs = undo logs; logs_pending = logs with aborted transactions not put back yet; horizon = transactions below are committed and visible to all';
REVOKE ALL ON FUNCTION zheap.zheap_undo_stats() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zheap.zheap_undo_stats() TO pg_monitor;
