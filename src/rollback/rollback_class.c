/*
 * rollback_class.c
 *		Looking for tables in pg_class, also in VACUUM.
 */
#include "postgres.h"

#include "utils/snapmgr.h"

#include "rollback_private.h"

#include "zheap/undo/undo_horizon.h"

/* What VACUUM sees of a catalog may be pruned while it is being scanned. */
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
