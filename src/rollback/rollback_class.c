/*
 * rollback_class.c
 *		Search pg_class for tables, in VACUUM, too.
 */
#include "postgres.h"

#include "utils/snapmgr.h"

#include "zheap/undo/undo_horizon.h"

#include "rollback_private.h"

/* Rows that VACUUM's snapshot sees may be pruned meanwhile: hold the horizon back. */
void
zrollback_class_scan(Oid index, ScanKey keys, int nkeys, ZClassVisitor visit, void *arg)
{
	uint8		flags = zundo_hold_back();
	Snapshot	snapshot;

	snapshot = RegisterSnapshot(GetLatestSnapshot());
	zheap_class_scan(index, snapshot, keys, nkeys, visit, arg);
	UnregisterSnapshot(snapshot);
	zundo_hold_back_end(flags);
}
