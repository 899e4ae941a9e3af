/*
 * am_handler.c
 *		Handlers of the two access methods, and the table of zheap's callbacks.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "fmgr.h"
#include "postmaster/bgworker.h"

#include "zheap/base/pg_compat_am.h"
#include "zheap/am/am.h"
#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/dml/dml.h"
#include "zheap/index/index.h"
#include "zheap/rewrite/rewrite.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/undo/undo_am.h"
#include "zheap/vacuum/vacuum.h"

PG_FUNCTION_INFO_V1(zheap_tableam_handler);
PG_FUNCTION_INFO_V1(zheap_undo_handler);

/* Return the slot type.  This is the first callback that a worker of pglogical or spock calls. */
static const TupleTableSlotOps *
slot_callbacks(Relation rel)
{
	if (MyBgworkerEntry != NULL)
		zam_refuse_heap_workers(rel);
	return &TTSOpsZheap;
}

ZCOMPAT_INDEX_FETCH_BEGIN(zscan_index_begin)
ZCOMPAT_DELETE(zdml_delete)
ZCOMPAT_UPDATE(zdml_update)
ZCOMPAT_COPY_FOR_CLUSTER(zrewrite_table)
ZCOMPAT_ANALYZE_BLOCK(zscan_analyze_next_block)
ZCOMPAT_ANALYZE_TUPLE(zscan_analyze_next_tuple)
ZCOMPAT_BITMAP(zscan_bitmap_page, zscan_bitmap_row, zscan_bitmap_next_tuple)

static const TableAmRoutine zheap_methods = {
	.type = T_TableAmRoutine,

	.slot_callbacks = slot_callbacks,

	.scan_begin = zscan_begin,
	.scan_end = zscan_end,
	.scan_rescan = zscan_rescan,
	.scan_getnextslot = zscan_getnextslot,

	.scan_set_tidrange = zscan_set_tidrange,
	.scan_getnextslot_tidrange = zscan_getnextslot_tidrange,

	.parallelscan_estimate = table_block_parallelscan_estimate,
	.parallelscan_initialize = table_block_parallelscan_initialize,
	.parallelscan_reinitialize = table_block_parallelscan_reinitialize,

	.index_fetch_begin = zcompat_index_fetch_begin(zscan_index_begin),
	.index_fetch_reset = zscan_index_reset,
	.index_fetch_end = zscan_index_end,
	.index_fetch_tuple = zscan_index_fetch,

	.tuple_fetch_row_version = zscan_fetch_row_version,
	.tuple_tid_valid = zscan_tid_valid,
	.tuple_get_latest_tid = zscan_latest_tid,
	.tuple_satisfies_snapshot = zscan_satisfies_snapshot,
	.index_delete_tuples = zindex_delete_tuples,

	.tuple_insert = zdml_insert,
	.tuple_insert_speculative = zdml_insert_speculative,
	.tuple_complete_speculative = zdml_complete_speculative,
	.multi_insert = zdml_multi_insert,
	.tuple_delete = zcompat_delete(zdml_delete),
	.tuple_update = zcompat_update(zdml_update),
	.tuple_lock = zdml_lock,
	.finish_bulk_insert = NULL, /* nothing to do */

	.relation_set_new_filelocator = zam_relation_set_new_file,
	.relation_nontransactional_truncate = zam_relation_nontransactional_truncate,
	.relation_copy_data = zam_relation_copy_data,
	.relation_copy_for_cluster = zcompat_copy_for_cluster(zrewrite_table),
	.relation_vacuum = zvacuum_relation,
	.scan_analyze_next_block = zcompat_analyze_block(zscan_analyze_next_block),
	.scan_analyze_next_tuple = zcompat_analyze_tuple(zscan_analyze_next_tuple),
	.index_build_range_scan = zindex_build_range_scan,
	.index_validate_scan = zindex_validate_scan,

	.relation_size = zam_relation_size,
	.relation_needs_toast_table = zam_relation_needs_toast_table,
	.relation_toast_am = zam_relation_toast_am,
	.relation_fetch_toast_slice = zam_relation_fetch_toast_slice,

	.relation_estimate_size = zam_relation_estimate_size,

	zcompat_bitmap(zscan_bitmap_page, zscan_bitmap_row, zscan_bitmap_next_tuple),
	.scan_sample_next_block = zscan_sample_next_block,
	.scan_sample_next_tuple = zscan_sample_next_tuple
};

const TableAmRoutine *
zam_routine(void)
{
	return &zheap_methods;
}

/*
 * Refuse to work without preloading, before anything is written: no resource manager would be
 * registered, and the WAL of zheap tables could not be replayed.
 */
Datum
zheap_tableam_handler(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	PG_RETURN_POINTER(&zheap_methods);
}

Datum
zheap_undo_handler(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	PG_RETURN_POINTER(zundo_am_routine());
}
