/*
 * dml_update_compare.c
 *		COMPARE, the phase of an UPDATE in which functions tell what it does to keys.
 *
 * Whether a row is under an index's predicate, what the value of an expression is, and whether
 * numbers of other bytes are equal: only functions of the index and of types know it, and they
 * must not run with a page locked (I3).  So the old version is copied and the page is unlocked.
 * The next CHECK uses the results if it finds a version of the same bytes.
 *
 * Whether the pending list of a GIN index has keys of the row is found out here as well, since
 * pages of an index are not locked together with one of the table.
 *
 * A row that has had several keys may have an entry that is equal to the new key, with other
 * bytes or the same ones.  Only an updater of the row inserts such an entry, after it has changed
 * the row; so what was found without a lock of the row counts if the page has not changed since.
 * In particular an entry that was not there is still not there when the row has been changed, so
 * it is inserted without a second search.  One that was there may have been removed meanwhile.
 *
 * LOCKING: the row's page is locked on entry only; the index locks its own.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/server_calls.h"
#include "zheap/btree/entry_key.h"

#include "update_phases.h"

bool
zcomparison_holds(const Update *update, const ZRowVersion *old)
{
	const ZComparison *comparison = &update->comparison;

	if (comparison->old == NULL ||
		!zrow_same_body(comparison->old, comparison->len, old->row, old->len))
		return false;
	return comparison->locked || !comparison->entries || !zrow_has_several_keys(old->row) ||
		(!XLogRecPtrIsInvalid(comparison->lsn) &&
		 comparison->lsn == PageGetLSN(update->target.view.page));
}

/* Compare the keys of the version in the slot and of the new one in index number i. */
static ZKeyChange
compare_keys(Relation index, Update *update, TupleTableSlot *before, bool several_keys, int i)
{
	ItemPointerData tid;
	IndexTuple	old;
	IndexTuple	new;

	ItemPointerSet(&tid, BufferGetBlockNumber(update->target.buffer), update->target.offnum);
	if (index->rd_rel->relam == GIN_AM_OID)
		return zgin_compare(index, before, update->slot, &tid, &update->comparison.added[i]);
	update->comparison.entries = true;
	old = zkey_form(index, before);
	new = zkey_form(index, update->slot);
	if (new == NULL)
		return old == NULL ? ZKEY_SAME : ZKEY_LEAVES;
	if (old != NULL && zkey_equal(index, old, new))
		return zkey_same_bytes(index, old, new) ? ZKEY_SAME : ZKEY_OTHER_BYTES;
	new->t_tid = tid;
	return several_keys ? zentries_key_change(index, update->rel, new) : ZKEY_ADDED;
}

/* Copy the old version and what tells whether it is still the same.  The page is locked. */
static void
comparison_init(Update *update)
{
	const ZRowVersion *old = &update->check.version;
	ZComparison *comparison = &update->comparison;
	int			n = bms_num_members(update->changes.unknown);
	int			next = 0;

	comparison->old = memcpy(palloc(old->len), old->row, old->len);
	comparison->len = old->len;
	comparison->locked = update->locked;
	comparison->entries = false;
	comparison->lsn = RelationNeedsWAL(update->rel) ?
		PageGetLSN(update->target.view.page) : InvalidXLogRecPtr;
	comparison->indexes = palloc(n * sizeof(Oid));
	comparison->changes = palloc(n * sizeof(ZKeyChange));
	comparison->added = palloc0(n * sizeof(ZGinKeys *));
	/* a function may be written in SQL, and rebuild "update->indexes" */
	for (int i = -1; (i = bms_next_member(update->changes.unknown, i)) >= 0;)
		comparison->indexes[next++] = update->indexes->indexes[i].oid;
	comparison->n = n;
}

/* Return a slot with the columns of the copied version. */
static TupleTableSlot *
make_slot(Update *update)
{
	TupleDesc	desc = RelationGetDescr(update->rel);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);

	(void) zcolumns_deform(update->rel, update->comparison.old, update->comparison.len,
						   desc->natts, slot->tts_values, slot->tts_isnull);
	return ExecStoreVirtualTuple(slot);
}

Phase
zupdate_compare(Update *update)
{
	ZComparison *comparison = &update->comparison;
	bool		several_keys = zrow_has_several_keys(update->check.version.row);
	TupleTableSlot *before;
	MemoryContext old;

	if (update->scratch == NULL)
		update->scratch = AllocSetContextCreate(CurrentMemoryContext, "zheap keys compared",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(update->scratch);
	old = MemoryContextSwitchTo(update->scratch);
	comparison_init(update);
	ztarget_unlock(&update->target);
	before = make_slot(update);
	for (int i = 0; i < comparison->n; i++)
	{
		Relation	index = index_open(comparison->indexes[i], RowExclusiveLock);

		comparison->changes[i] = compare_keys(index, update, before, several_keys, i);
		index_close(index, RowExclusiveLock);
	}
	ExecDropSingleTupleTableSlot(before);
	MemoryContextSwitchTo(old);
	update->indexes = ztable_indexes(update->rel);
	return CHECK;
}
