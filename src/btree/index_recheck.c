/*
 * index_recheck.c
 *		Scans of GiST and SP-GiST indexes that may have several entries of a row.
 *
 * As for B-trees (index_entries.c) an index's relation cache entry is made to point to a copy of
 * the server's routine in which some functions are ours.
 *
 * A row may get the mark while a scan is under way, after the scan has returned it, and a further
 * entry.  So a scan remembers all rows that it has returned, not only marked ones; also those that
 * an index-only scan has taken from pages that are all-visible, without a look at the row.
 *
 * LOCKING: none; the access methods lock pages of the index.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/gist_private.h"
#include "access/gistscan.h"
#include "access/htup_details.h"
#include "access/spgist.h"
#include "access/spgist_private.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "utils/catcache.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "zheap/base/base.h"
#include "zheap/base/catalog.h"
#include "zheap/btree/index_recheck.h"
#include "zheap/btree/row_set.h"
#include "zheap/undo/undo_relation.h"

typedef struct ZRecheck
{
	IndexScanDesc scan;
	MemoryContext context;		/* of the scan's fetch */
	MemoryContext row;			/* values of the current row */
	ZRowSet    *returned;		/* rows that this run of the scan has returned */
	bool		has_entry;		/* xs_heaptid is of an entry */
	FmgrInfo   *distances;		/* by which the scan is ordered: numberOfOrderBys of them; or
								 * NULL */
} ZRecheck;

static IndexAmRoutine gist_rechecked;
static IndexAmRoutine spgist_rechecked;

/* ---- the kind of index ---- */

/*
 * Return whether rows can be put in the order of each of the family's ordering operators, which
 * all return float8.
 *
 * The distance of points is the same in an entry and in the row, to the last bit.  Those of
 * circles and polygons are rechecked by the executor in any case.
 */
static bool
knows_distances(Oid family)
{
	CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	bool		known = true;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);
		Oid			function;

		if (amop->amoppurpose != AMOP_ORDER)
			continue;
		function = get_opcode(amop->amopopr);
		known = known && family < FirstNormalObjectId &&
			(function == F_POINT_DISTANCE || function == F_DIST_CPOINT ||
			 function == F_DIST_POLYP);
	}
	ReleaseSysCacheList(list);
	return known;
}

bool
zrecheck_knows_order(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		if (!knows_distances(index->rd_opfamily[i]))
			return false;
	}
	return true;
}

/* ---- the access methods' functions ---- */

static inline bool
is_gist(Relation index)
{
	return index->rd_rel->relam == GIST_AM_OID;
}

/* Remember the operators by which the scan is ordered.  The access method replaces them. */
static void
note_distances(ZRecheck *recheck, ScanKey orderbys, int norderbys)
{
	if (orderbys == NULL || norderbys == 0)
		return;
	if (recheck->distances == NULL)
		recheck->distances = MemoryContextAlloc(recheck->context, norderbys * sizeof(FmgrInfo));
	for (int i = 0; i < norderbys; i++)
		fmgr_info_copy(&recheck->distances[i], &orderbys[i].sk_func, recheck->context);
}

/* Begin a run of the scan. */
static void
run_anew(IndexScanDesc scan, ZIndexFetchBase *fetch, ScanKey orderbys, int norderbys)
{
	ZRecheck   *recheck = fetch->recheck;

	if (recheck == NULL)
	{
		MemoryContext context = GetMemoryChunkContext(fetch);

		recheck = fetch->recheck = MemoryContextAllocZero(context, sizeof(ZRecheck));
		recheck->scan = scan;
		recheck->context = context;
	}
	fetch->leaf++;
	zrow_set_clear(&recheck->returned);
	recheck->has_entry = false;
	note_distances(recheck, orderbys, norderbys);
}

/* Wrap gistrescan and spgrescan. */
static void
rescan_rechecked(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	if (scan->xs_heapfetch != NULL && zheap_is_table(scan->heapRelation))
		run_anew(scan, (ZIndexFetchBase *) scan->xs_heapfetch, orderbys, norderbys);
	if (is_gist(scan->indexRelation))
		gistrescan(scan, keys, nkeys, orderbys, norderbys);
	else
		spgrescan(scan, keys, nkeys, orderbys, norderbys);
}

/*
 * Return whether the access method may read a page to find the next entry.  An ordered scan has
 * read the entry earlier.
 */
static bool
may_read_page(IndexScanDesc scan)
{
	if (is_gist(scan->indexRelation))
	{
		GISTScanOpaque so = (GISTScanOpaque) scan->opaque;

		return scan->numberOfOrderBys > 0 || so->curPageData >= so->nPageData;
	}
	else
	{
		SpGistScanOpaque so = (SpGistScanOpaque) scan->opaque;

		return so->iPtr >= so->nPtrs;
	}
}

static inline bool
next_entry(IndexScanDesc scan, ScanDirection direction)
{
	return is_gist(scan->indexRelation) ? gistgettuple(scan, direction) :
		spggettuple(scan, direction);
}

/*
 * Wrap gistgettuple and spggettuple.  Copies of the table's pages that were made before the entry
 * was read are not used any more.
 */
static bool
gettuple_rechecked(IndexScanDesc scan, ScanDirection direction)
{
	ZIndexFetchBase *fetch = (ZIndexFetchBase *) scan->xs_heapfetch;
	ZRecheck   *recheck;

	if (fetch == NULL || !zheap_is_table(scan->heapRelation) || fetch->recheck == NULL)
		return next_entry(scan, direction);
	recheck = fetch->recheck;
	/* an index-only scan has returned the row without a look at it */
	if (recheck->has_entry && !fetch->looked && IsMVCCSnapshot(scan->xs_snapshot))
		(void) zrow_set_add(&recheck->returned, recheck->context, &scan->xs_heaptid);
	if (may_read_page(scan))
		fetch->leaf++;
	fetch->looked = false;
	recheck->has_entry = next_entry(scan, direction);
	return recheck->has_entry;
}

void
zrecheck_wrap(Relation index)
{
	IndexAmRoutine *routine = is_gist(index) ? &gist_rechecked : &spgist_rechecked;

	if (index->rd_indam == routine)
		return;
	if (routine->type != T_IndexAmRoutine)
	{
		/* insertions are those of other indexes of the access method */
		zindex_wrap_insertions(index);
		*routine = *index->rd_indam;
		routine->amrescan = rescan_rechecked;
		routine->amgettuple = gettuple_rechecked;
	}
	index->rd_indam = routine;
}

/* ---- marked rows ---- */

/* Give an index-only scan the values of the version in the slot instead of the entry's. */
static void
return_values(ZRecheck *recheck, TupleTableSlot *slot)
{
	IndexScanDesc scan = recheck->scan;
	Relation	index = scan->indexRelation;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old = MemoryContextSwitchTo(recheck->row);

	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
		values[i] = slot_getattr(slot, index->rd_index->indkey.values[i], &isnull[i]);
	scan->xs_hitup = heap_form_tuple(scan->xs_hitupdesc, values, isnull);
	MemoryContextSwitchTo(old);
}

/*
 * Return whether a scan that is ordered by distances returns the version in the slot at its
 * current entry.
 *
 * If the distances of entries are exact, that is where they are those of the version.  If not, the
 * executor computes them, and puts the row in its place.  The scan meets the row first by the
 * entry that is nearest, which is not further away than the version's own.  A result that is
 * smaller than the entry's distance, by rounding, would be an error to the executor, so the
 * smaller of the two is reported.
 */
static bool
is_in_order(ZRecheck *recheck, TupleTableSlot *slot)
{
	IndexScanDesc scan = recheck->scan;
	Form_pg_index index = scan->indexRelation->rd_index;

	for (int i = 0; i < scan->numberOfOrderBys; i++)
	{
		ScanKey		key = &scan->orderByData[i];
		bool		isnull;
		Datum		value = slot_getattr(slot, index->indkey.values[key->sk_attno - 1], &isnull);
		float8		distance = 0;
		float8		reported = DatumGetFloat8(scan->xs_orderbyvals[i]);

		isnull = isnull || (key->sk_flags & SK_ISNULL) != 0;
		if (!isnull)
			distance = DatumGetFloat8(FunctionCall2Coll(&recheck->distances[i], key->sk_collation,
														value, key->sk_argument));
		if (!scan->xs_recheckorderby)
		{
			if (isnull != scan->xs_orderbynulls[i] ||
				(!isnull && !float8_eq(distance, reported)))
				return false;
		}
		else if (!isnull && (scan->xs_orderbynulls[i] || float8_lt(distance, reported)))
		{
			scan->xs_orderbyvals[i] = Float8GetDatum(distance);
			scan->xs_orderbynulls[i] = false;
		}
	}
	return true;
}

bool
zrecheck_returns(ZIndexFetchBase *fetch, const ItemPointerData *tid, Snapshot snapshot,
				 TupleTableSlot *slot, bool marked)
{
	ZRecheck   *recheck = fetch->recheck;
	IndexScanDesc scan = recheck->scan;
	MemoryContext old;
	bool		in_order;

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	if (marked)
	{
		if (recheck->row == NULL)
			recheck->row = AllocSetContextCreate(recheck->context, "row of a zheap index scan",
												 ALLOCSET_SMALL_SIZES);
		else
			MemoryContextReset(recheck->row);
		old = MemoryContextSwitchTo(recheck->row);
		in_order = is_in_order(recheck, slot);
		MemoryContextSwitchTo(old);
		if (!in_order)
			return false;
	}
	/* an entry of another key leads to the version as well, and what is rechecked is that */
	if (IsMVCCSnapshot(snapshot) &&
		!zrow_set_add(&recheck->returned, recheck->context, tid))
		return false;
	if (marked)
	{
		scan->xs_recheck = true;
		if (scan->xs_want_itup)
			return_values(recheck, slot);
	}
	return true;
}

void
zrecheck_free(ZIndexFetchBase *fetch)
{
	ZRecheck   *recheck = fetch->recheck;

	zrow_set_clear(&recheck->returned);
	if (recheck->row != NULL)
		MemoryContextDelete(recheck->row);
	pfree(recheck);
	fetch->recheck = NULL;
}
