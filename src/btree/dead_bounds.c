/*
 * dead_bounds.c
 *		Places in a B-tree, as bounds of ranges of entries (dead_ranges.h), and their order.
 *
 * LOCKING: none.  No buffer is locked by the caller either, as functions of the keys' types are
 * called.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

#include "zheap/base/base.h"

#include "dead_bounds.h"

static int
compare_nulls(bool a, bool b, int16 option)
{
	int			result = (int) a - (int) b;

	return option & INDOPTION_NULLS_FIRST ? -result : result;
}

/* Compare by keys, then by TID, in the index's order.  Return <0, 0 or >0. */
static int
compare_entries(Relation index, IndexTuple a, IndexTuple b)
{
	TupleDesc	desc = RelationGetDescr(index);

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		int16		option = index->rd_indoption[i];
		bool		a_isnull;
		bool		b_isnull;
		Datum		x = index_getattr(a, i + 1, desc, &a_isnull);
		Datum		y = index_getattr(b, i + 1, desc, &b_isnull);
		int			result;

		if (a_isnull || b_isnull)
			result = compare_nulls(a_isnull, b_isnull, option);
		else
		{
			result = DatumGetInt32(FunctionCall2Coll(index_getprocinfo(index, i + 1, BTORDER_PROC),
													 index->rd_indcollation[i], x, y));
			if (option & INDOPTION_DESC)
				INVERT_COMPARE_RESULT(result);
		}
		if (result != 0)
			return result;
	}
	return ItemPointerCompare(&a->t_tid, &b->t_tid);
}

bool
zdead_bound(IndexTuple entry, ZDeadBound *bound)
{
	Size		size = IndexTupleSize(entry);

	Assert(!BTreeTupleIsPivot(entry) && !BTreeTupleIsPosting(entry));
	if (size > ZDEAD_MAX_ENTRY)
		return false;
	memset(bound, 0, sizeof(*bound));
	bound->inclusive = true;
	memcpy(bound->entry.bytes, entry, size);
	return true;
}

bool
zdead_is_beyond(Relation index, IndexTuple entry, const ZDeadBound *end, bool backward)
{
	int			result = compare_entries(index, entry, (IndexTuple) end->entry.bytes);

	if (result == 0)
		return !end->inclusive;
	return backward ? result < 0 : result > 0;
}

bool
zdead_low_is_higher(Relation index, const ZDeadBound *a, const ZDeadBound *b)
{
	int			result = compare_entries(index, (IndexTuple) a->entry.bytes,
									   (IndexTuple) b->entry.bytes);

	return result > 0 || (result == 0 && !a->inclusive && b->inclusive);
}

bool
zdead_high_is_lower(Relation index, const ZDeadBound *a, const ZDeadBound *b)
{
	int			result = compare_entries(index, (IndexTuple) a->entry.bytes,
									   (IndexTuple) b->entry.bytes);

	return result < 0 || (result == 0 && !a->inclusive && b->inclusive);
}

bool
zdead_is_nothing(Relation index, const ZDeadBound *low, const ZDeadBound *high)
{
	int			result = compare_entries(index, (IndexTuple) low->entry.bytes,
									   (IndexTuple) high->entry.bytes);

	return result > 0 || (result == 0 && !(low->inclusive && high->inclusive));
}

bool
zdead_has_entry(Relation index, const Range *range, IndexTuple entry)
{
	return !zdead_is_beyond(index, entry, &range->low, true) &&
		!zdead_is_beyond(index, entry, &range->high, false);
}
