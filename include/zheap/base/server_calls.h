/*
 * server_calls.h
 *		Functions of the server that must not be called while a page is locked (L2).
 *
 * They read catalogs, and so accept invalidation messages and lock relations; or they may wait for
 * a heavyweight lock; or they run code of users, which may do all that.  With an LWLock held,
 * above all a content lock, such a wait cannot be cancelled, and the deadlock detector does not
 * see it.  Also, what the backend knows about relations may change while it uses it.
 *
 * Each name is a macro here that asserts that no such lock is held, and calls the function of that
 * name.  So in builds with assertions each call in our code is checked, also where a cache makes
 * the function harmless most of the time.  The headers that declare the functions come first: a
 * declaration must not be taken for a call.  The lint knows families of names: each member that we
 * call has to be listed here.
 */
#ifndef ZHEAP_SERVER_CALLS_H
#define ZHEAP_SERVER_CALLS_H

#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "access/visibilitymap.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/relcache.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#ifdef USE_ASSERT_CHECKING
/*
 * Return whether no LWLock or content lock is held, and the backend is not in a critical section.
 */
extern bool zheap_may_wait(void);
#endif

#define ZCHECKED(call)	(AssertMacro(zheap_may_wait()), call)

/* ---- relations ---- */

#define relation_open(...)			ZCHECKED(relation_open(__VA_ARGS__))
#define try_relation_open(...)		ZCHECKED(try_relation_open(__VA_ARGS__))
#define table_open(...)				ZCHECKED(table_open(__VA_ARGS__))
#define index_open(...)				ZCHECKED(index_open(__VA_ARGS__))
#define toast_open_indexes(...)		ZCHECKED(toast_open_indexes(__VA_ARGS__))
#define vac_open_indexes(...)		ZCHECKED(vac_open_indexes(__VA_ARGS__))
#define RelationIdGetRelation(...)	ZCHECKED(RelationIdGetRelation(__VA_ARGS__))
#define RelationGetIndexList(...)	ZCHECKED(RelationGetIndexList(__VA_ARGS__))
#define RelationGetReplicaIndex(...) ZCHECKED(RelationGetReplicaIndex(__VA_ARGS__))
#define RangeVarGetRelidExtended(...) ZCHECKED(RangeVarGetRelidExtended(__VA_ARGS__))
#define BuildIndexInfo(...)			ZCHECKED(BuildIndexInfo(__VA_ARGS__))

/* ---- catalogs ---- */

#define SearchSysCache1(...)		ZCHECKED(SearchSysCache1(__VA_ARGS__))
#define SearchSysCacheExists(...)	ZCHECKED(SearchSysCacheExists(__VA_ARGS__))
#define SearchSysCacheList(...)		ZCHECKED(SearchSysCacheList(__VA_ARGS__))
#define systable_beginscan(...)		ZCHECKED(systable_beginscan(__VA_ARGS__))
#define systable_beginscan_ordered(...) ZCHECKED(systable_beginscan_ordered(__VA_ARGS__))
#define systable_getnext(...)		ZCHECKED(systable_getnext(__VA_ARGS__))
#define systable_getnext_ordered(...) ZCHECKED(systable_getnext_ordered(__VA_ARGS__))
#define get_am_name(...)			ZCHECKED(get_am_name(__VA_ARGS__))
#define get_attavgwidth(...)		ZCHECKED(get_attavgwidth(__VA_ARGS__))
#define get_call_result_type(...)	ZCHECKED(get_call_result_type(__VA_ARGS__))
#define get_database_name(...)		ZCHECKED(get_database_name(__VA_ARGS__))
#define get_extension_name(...)		ZCHECKED(get_extension_name(__VA_ARGS__))
#define get_namespace_name(...)		ZCHECKED(get_namespace_name(__VA_ARGS__))
#define get_namespace_oid(...)		ZCHECKED(get_namespace_oid(__VA_ARGS__))
#define get_op_opfamily_strategy(...) ZCHECKED(get_op_opfamily_strategy(__VA_ARGS__))
#define get_opcode(...)				ZCHECKED(get_opcode(__VA_ARGS__))
#define get_opfamily_member(...)	ZCHECKED(get_opfamily_member(__VA_ARGS__))
#define get_rel_name(...)			ZCHECKED(get_rel_name(__VA_ARGS__))
#define get_relname_relid(...)		ZCHECKED(get_relname_relid(__VA_ARGS__))
#define get_table_am_oid(...)		ZCHECKED(get_table_am_oid(__VA_ARGS__))
#define get_tablespace_io_concurrency(...) \
	ZCHECKED(get_tablespace_io_concurrency(__VA_ARGS__))
#define get_tablespace_maintenance_io_concurrency(...) \
	ZCHECKED(get_tablespace_maintenance_io_concurrency(__VA_ARGS__))
#define get_tablespace_page_costs(...) ZCHECKED(get_tablespace_page_costs(__VA_ARGS__))
#define get_typavgwidth(...)		ZCHECKED(get_typavgwidth(__VA_ARGS__))
#define get_typlen(...)				ZCHECKED(get_typlen(__VA_ARGS__))
#define get_typlenbyval(...)		ZCHECKED(get_typlenbyval(__VA_ARGS__))
#define lookup_type_cache(...)		ZCHECKED(lookup_type_cache(__VA_ARGS__))
#define lc_collate_is_c(...)		ZCHECKED(lc_collate_is_c(__VA_ARGS__))
#define pg_newlocale_from_collation(...) ZCHECKED(pg_newlocale_from_collation(__VA_ARGS__))
#define object_ownercheck(...)		ZCHECKED(object_ownercheck(__VA_ARGS__))
#define RelidByRelfilenumber(...)	ZCHECKED(RelidByRelfilenumber(__VA_ARGS__))
#define GetUserNameFromId(...)		ZCHECKED(GetUserNameFromId(__VA_ARGS__))
#define has_privs_of_role(...)		ZCHECKED(has_privs_of_role(__VA_ARGS__))
#define superuser(...)				ZCHECKED(superuser(__VA_ARGS__))
#define superuser_arg(...)			ZCHECKED(superuser_arg(__VA_ARGS__))
#define AcceptInvalidationMessages(...) ZCHECKED(AcceptInvalidationMessages(__VA_ARGS__))

/* ---- heavyweight locks, that of the extension of a fork included ---- */

#define LockAcquire(...)			ZCHECKED(LockAcquire(__VA_ARGS__))
#define LockDatabaseObject(...)		ZCHECKED(LockDatabaseObject(__VA_ARGS__))
#define LockPage(...)				ZCHECKED(LockPage(__VA_ARGS__))
#define LockRelation(...)			ZCHECKED(LockRelation(__VA_ARGS__))
#define LockRelationForExtension(...) ZCHECKED(LockRelationForExtension(__VA_ARGS__))
#define LockRelationOid(...)		ZCHECKED(LockRelationOid(__VA_ARGS__))
#define ConditionalLockRelation(...) ZCHECKED(ConditionalLockRelation(__VA_ARGS__))
#define ConditionalLockRelationForExtension(...) \
	ZCHECKED(ConditionalLockRelationForExtension(__VA_ARGS__))
#define ConditionalLockRelationOid(...) ZCHECKED(ConditionalLockRelationOid(__VA_ARGS__))
#define ConditionalXactLockTableWait(...) ZCHECKED(ConditionalXactLockTableWait(__VA_ARGS__))
#define XactLockTableWait(...)		ZCHECKED(XactLockTableWait(__VA_ARGS__))
#define VirtualXactLock(...)		ZCHECKED(VirtualXactLock(__VA_ARGS__))
#define FreeSpaceMapVacuum(...)		ZCHECKED(FreeSpaceMapVacuum(__VA_ARGS__))
#define FreeSpaceMapVacuumRange(...) ZCHECKED(FreeSpaceMapVacuumRange(__VA_ARGS__))
#define RecordAndGetPageWithFreeSpace(...) ZCHECKED(RecordAndGetPageWithFreeSpace(__VA_ARGS__))
#define RecordFreeIndexPage(...)	ZCHECKED(RecordFreeIndexPage(__VA_ARGS__))
#define RecordPageWithFreeSpace(...) ZCHECKED(RecordPageWithFreeSpace(__VA_ARGS__))
#define visibilitymap_pin(...)		ZCHECKED(visibilitymap_pin(__VA_ARGS__))

/* ---- code of users, of access methods and of operator classes; values in toast tables ---- */

#define FunctionCall2Coll(...)		ZCHECKED(FunctionCall2Coll(__VA_ARGS__))
#define FunctionCall3Coll(...)		ZCHECKED(FunctionCall3Coll(__VA_ARGS__))
#define FunctionCall4Coll(...)		ZCHECKED(FunctionCall4Coll(__VA_ARGS__))
#define fmgr_info(...)				ZCHECKED(fmgr_info(__VA_ARGS__))
#define fmgr_info_copy(...)			ZCHECKED(fmgr_info_copy(__VA_ARGS__))
#define index_getprocinfo(...)		ZCHECKED(index_getprocinfo(__VA_ARGS__))
#define ScanKeyInit(...)			ZCHECKED(ScanKeyInit(__VA_ARGS__))
#define ScanKeyEntryInitialize(...) ZCHECKED(ScanKeyEntryInitialize(__VA_ARGS__))
#define ExecInitQual(...)			ZCHECKED(ExecInitQual(__VA_ARGS__))
#define ExecPrepareQual(...)		ZCHECKED(ExecPrepareQual(__VA_ARGS__))
#define ExecQual(...)				ZCHECKED(ExecQual(__VA_ARGS__))
#define FormIndexDatum(...)			ZCHECKED(FormIndexDatum(__VA_ARGS__))
#define index_bulk_delete(...)		ZCHECKED(index_bulk_delete(__VA_ARGS__))
#define index_beginscan(...)		ZCHECKED(index_beginscan(__VA_ARGS__))
#define index_beginscan_bitmap(...) ZCHECKED(index_beginscan_bitmap(__VA_ARGS__))
#define index_getbitmap(...)		ZCHECKED(index_getbitmap(__VA_ARGS__))
#define index_getnext_tid(...)		ZCHECKED(index_getnext_tid(__VA_ARGS__))
#define index_insert(...)			ZCHECKED(index_insert(__VA_ARGS__))
#define vac_bulkdel_one_index(...)	ZCHECKED(vac_bulkdel_one_index(__VA_ARGS__))
#define vac_cleanup_one_index(...)	ZCHECKED(vac_cleanup_one_index(__VA_ARGS__))
#define _bt_get_endpoint(...)		ZCHECKED(_bt_get_endpoint(__VA_ARGS__))
#define _bt_getbuf(...)				ZCHECKED(_bt_getbuf(__VA_ARGS__))
#define _bt_metaversion(...)		ZCHECKED(_bt_metaversion(__VA_ARGS__))
#define _bt_mkscankey(...)			ZCHECKED(_bt_mkscankey(__VA_ARGS__))
#define _bt_search(...)				ZCHECKED(_bt_search(__VA_ARGS__))
#define heap_fetch_toast_slice(...) ZCHECKED(heap_fetch_toast_slice(__VA_ARGS__))
#define heap_toast_delete(...)		ZCHECKED(heap_toast_delete(__VA_ARGS__))
#define heap_toast_insert_or_update(...) ZCHECKED(heap_toast_insert_or_update(__VA_ARGS__))
#define pg_detoast_datum(...)		ZCHECKED(pg_detoast_datum(__VA_ARGS__))
#define pg_detoast_datum_packed(...) ZCHECKED(pg_detoast_datum_packed(__VA_ARGS__))
#define table_relation_fetch_toast_slice(...) \
	ZCHECKED(table_relation_fetch_toast_slice(__VA_ARGS__))
#define toast_flatten_tuple(...)	ZCHECKED(toast_flatten_tuple(__VA_ARGS__))

#endif							/* ZHEAP_SERVER_CALLS_H */
