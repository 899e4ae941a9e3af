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
	ZPageSlot	made;			/* by whom, and the record */
	int			ordinal;		/* 0: empty */
} Known;

static Known known[KNOWN_SIZE];

/*
 * Made by our transaction, or a part of it that goes on?  The image has been
 * through zmvcc_skip_aborted: with "chain" its modifier has committed.
 */
static bool
made_by_us(ZPageView *view, const ZImage *image)
{
	return FullTransactionIdIsValid(image->fxid) && !image->chain &&
		zmvcc_image_fate(view, image) == ZFATE_OWN;
}

/* One version back within our transaction; false: the image is number 1. */
static bool
step_back(ZPageView *view, ZImage *image)
{
	if (!made_by_us(view, image) || (image->hdr.flags & ZROW_INSERTED))
		return false;
	return zmvcc_previous(view, image) && zmvcc_skip_aborted(view, image);
}

/* Where the number of this version, which we made, is remembered; NULL: nowhere. */
static Known *
known_of(ZPageView *view, const ZImage *image, ZPageSlot *made)
{
	ZUndoRecord rec;

	if (!zmvcc_record(view, image, &rec, &made->fxid, &made->undo))
		return NULL;
	return &known[murmurhash32((uint32) made->undo ^ (uint32) (made->undo >> 32)) % KNOWN_SIZE];
}

static bool
is_known(const Known *entry, const ZPageSlot *made)
{
	return entry->ordinal > 0 && entry->made.undo == made->undo &&
		FullTransactionIdEquals(entry->made.fxid, made->fxid);
}

/* The number of the image, which has been through zmvcc_skip_aborted. */
static int
count_back(ZPageView *view, ZImage *image)
{
	Known	   *entry = NULL;
	ZPageSlot	newest = {InvalidFullTransactionId, ZUNDO_INVALID};
	int			ordinal = 1;

	if (made_by_us(view, image))
		entry = known_of(view, image, &newest);
	if (entry && is_known(entry, &newest))
		return entry->ordinal;
	while (step_back(view, image))
	{
		Known	   *older;
		ZPageSlot	made;

		if (made_by_us(view, image) &&
			(older = known_of(view, image, &made)) != NULL && is_known(older, &made))
		{
			ordinal += older->ordinal;
			break;
		}
		ordinal++;
	}
	if (entry)
	{
		entry->made = newest;
		entry->ordinal = ordinal;
	}
	return ordinal;
}

int
zmvcc_ordinal(ZPageView *view, OffsetNumber offnum)
{
	ZImage		image;

	zmvcc_current(view, offnum, &image);
	if (!zmvcc_skip_aborted(view, &image))
		return 0;
	return count_back(view, &image);
}

bool
zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal, ZImage *image)
{
	int			steps = zmvcc_ordinal(view, offnum) - ordinal;

	if (steps < 0)
		return false;
	zmvcc_current(view, offnum, image);
	if (!zmvcc_skip_aborted(view, image))
		return false;
	while (steps > 0 && step_back(view, image))
		steps--;
	return steps == 0;
}

bool
zmvcc_fetch_replaced(ZPageView *view, OffsetNumber offnum, ZImage *image)
{
	zmvcc_current(view, offnum, image);
	return zmvcc_skip_aborted(view, image) && step_back(view, image);
}

bool
zmvcc_fetch_inserted(ZPageView *view, OffsetNumber offnum, ZImage *image)
{
	zmvcc_current(view, offnum, image);
	if (!zmvcc_skip_aborted(view, image))
		return false;
	while (step_back(view, image))
		;
	return made_by_us(view, image) && (image->hdr.flags & ZROW_INSERTED);
}
