/*
 * dml_toast_present.c
 *		Whether the toasted values of an old version still exist.
 *
 * The oldest xid that is needed can move back.  A new snapshot's xmin is the oldest xid that
 * runs anywhere on the server, while an earlier VACUUM considered those of its own database
 * only.  So a build or a rewrite may meet a version that no snapshot sees, and whose toasted
 * values VACUUM was allowed to remove.  Conversely, if a value is not complete, no snapshot sees
 * the version: VACUUM keeps what a snapshot may see (I4).
 *
 * LOCKING: reads the toast table, so no page of ours is locked (D3).
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "executor/tuptable.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/pg_compat_toast.h"
#include "zheap/dml/target.h"

typedef struct ToastTable
{
	Relation	table;			/* NULL if not open */
	Relation   *indexes;
	int			nindexes;
	int			valid;			/* the one to be used */
} ToastTable;

static void
toast_open(ToastTable *toast, Oid relid)
{
	toast->table = table_open(relid, AccessShareLock);
	toast->valid = toast_open_indexes(toast->table, AccessShareLock, &toast->indexes,
									  &toast->nindexes);
}

static void
toast_close(ToastTable *toast)
{
	if (toast->table == NULL)
		return;
	toast_close_indexes(toast->indexes, toast->nindexes, AccessShareLock);
	table_close(toast->table, AccessShareLock);
}

static bool
value_is_present(ToastTable *toast, const struct varatt_external *pointer)
{
	int32		nchunks = (VARATT_EXTERNAL_GET_EXTSIZE(*pointer) - 1) / TOAST_MAX_CHUNK_SIZE + 1;
	ScanKeyData key;
	SysScanDesc scan;

	if (toast->table == NULL)
		toast_open(toast, pointer->va_toastrelid);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(pointer->va_valueid));
	scan = systable_beginscan_ordered(toast->table, toast->indexes[toast->valid],
									  get_toast_snapshot(), 1,
									  &key);
	while (nchunks > 0 && systable_getnext_ordered(scan, ForwardScanDirection) != NULL)
		nchunks--;
	systable_endscan_ordered(scan);
	return nchunks == 0;
}

bool
zdml_toast_present(Relation rel, uint8 flags, TupleTableSlot *slot, const Bitmapset *attrs)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ToastTable	toast = {.table = NULL};
	bool		present = true;

	Assert(!zheap_holds_buffer_lock()); /* D3 */
	if ((flags & ZROW_HASEXTERNAL) == 0)
		return true;
	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts && present; i++)
	{
		struct varlena *value = (struct varlena *) DatumGetPointer(slot->tts_values[i]);
		struct varatt_external pointer;

		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attlen != -1 ||
			!VARATT_IS_EXTERNAL_ONDISK(value))
			continue;
		if (attrs != NULL && !bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, attrs))
			continue;
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		present = value_is_present(&toast, &pointer);
	}
	toast_close(&toast);
	return present;
}
