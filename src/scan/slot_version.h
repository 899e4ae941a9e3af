/*
 * slot_version.h
 *		Private to scan: callbacks of the executor slot that need the version's system columns.
 *
 * No buffer is locked on entry and exit (L1): a system column may be read from a table, whose
 * AccessShareLock is then taken.  Errors are those of opening it, and of reading a page.
 */
#ifndef ZHEAP_SCAN_SLOT_VERSION_H
#define ZHEAP_SCAN_SLOT_VERSION_H

#include "executor/tuptable.h"

/* Return a system column.  ERROR (feature_not_supported) if the row is of no table. */
extern Datum ztuple_slot_getsysattr(TupleTableSlot *slot, int attnum, bool *isnull);

/* Return a palloc'd heap tuple with the slot's values, which triggers in PL languages read. */
extern HeapTuple ztuple_slot_copy_heap_tuple(TupleTableSlot *slot);

/*
 * Return whether our transaction made the version.  Called by foreign key triggers from 17 on;
 * before that they read xmin.  ERROR (feature_not_supported) if the row is of no table.
 */
extern bool ztuple_slot_is_current_xact_tuple(TupleTableSlot *slot);

#endif							/* ZHEAP_SCAN_SLOT_VERSION_H */
