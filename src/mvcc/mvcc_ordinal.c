/*
 * mvcc_ordinal.c
 *		The versions of a row within our own transaction, by number.
 *
 * 1 is the version that the transaction found, or inserted; each update and the
 * delete adds one.  What is rolled back does not count.
 *
 * A version keeps its number: what made the versions before it can only be rolled
 * back together with it.  So numbers found lately are remembered, by the place of the
 * version's record, and a row's versions need not be counted for each update again.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "zheap/mvcc/mvcc.h"

#define KNOWN_SIZE	8192		/* a power of two */

typedef struct Known
{
	ZOwner	made;			/* by whom, and the record */
	int			ordinal;		/* 0: empty */
} Known;

static Known known[KNOWN_SIZE];

/*
 * Made by our transaction, or a part of it that goes on?  The version has been
 * through zmvcc_skip_aborted: with upper_bound its modifier has committed.
 */
static bool
made_by_us(ZPageView *view, const ZRowVersion *version)
{
	return zmodifier_is_exact(&version->modifier) &&
		zmvcc_version_status(view, version) == ZXACT_OWN;
}

/* One version back within our transaction; false: the version is number 1. */
static bool
step_back(ZPageView *view, ZRowVersion *version)
{
	if (!made_by_us(view, version) || (version->hdr.flags & ZROW_INSERTED))
		return false;
	return zmvcc_previous(view, version) && zmvcc_skip_aborted(view, version);
}

/* Where the number of this version, which we made, is remembered; NULL: nowhere. */
static Known *
known_of(ZPageView *view, const ZRowVersion *version, ZOwner *made)
{
	ZUndoRecord rec;

	if (!zmvcc_record(view, version, &rec, made))
		return NULL;
	return &known[murmurhash32((uint32) made->undo ^ (uint32) (made->undo >> 32)) % KNOWN_SIZE];
}

static bool
is_known(const Known *entry, const ZOwner *made)
{
	return entry->ordinal > 0 && entry->made.undo == made->undo &&
		FullTransactionIdEquals(entry->made.fxid, made->fxid);
}

/* The number of the version, which has been through zmvcc_skip_aborted. */
static int
count_back(ZPageView *view, ZRowVersion *version)
{
	Known	   *entry = NULL;
	ZOwner	newest = {InvalidFullTransactionId, ZUNDO_INVALID};
	int			ordinal = 1;

	if (made_by_us(view, version))
		entry = known_of(view, version, &newest);
	if (entry && is_known(entry, &newest))
		return entry->ordinal;
	while (step_back(view, version))
	{
		Known	   *older;
		ZOwner	made;

		if (made_by_us(view, version) &&
			(older = known_of(view, version, &made)) != NULL && is_known(older, &made))
		{
			ordinal += older->ordinal;
			break;
		}
		ordinal++;
	}
	if (entry && !view->unfinished)
	{
		entry->made = newest;
		entry->ordinal = ordinal;
	}
	return ordinal;
}

int
zmvcc_ordinal(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion	version;

	zmvcc_current(view, offnum, &version);
	if (!zmvcc_skip_aborted(view, &version))
		return 0;
	return count_back(view, &version);
}

bool
zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal, ZRowVersion *version)
{
	int			steps = zmvcc_ordinal(view, offnum) - ordinal;

	if (steps < 0)
		return false;
	zmvcc_current(view, offnum, version);
	if (!zmvcc_skip_aborted(view, version))
		return false;
	while (steps > 0 && step_back(view, version))
		steps--;
	return steps == 0;
}

bool
zmvcc_fetch_replaced(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	zmvcc_current(view, offnum, version);
	return zmvcc_skip_aborted(view, version) && step_back(view, version);
}

bool
zmvcc_fetch_inserted(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	zmvcc_current(view, offnum, version);
	if (!zmvcc_skip_aborted(view, version))
		return false;
	while (step_back(view, version))
		;
	return made_by_us(view, version) && (version->hdr.flags & ZROW_INSERTED);
}
