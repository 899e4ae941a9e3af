/*
 * mvcc_ordinal.c
 *		The versions of a row within our own transaction, by number.
 *
 * 1 is the version that the transaction found, or inserted; each update and the
 * delete adds one.  What is rolled back does not count.
 */
#include "postgres.h"

#include "zheap/mvcc/mvcc.h"

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

int
zmvcc_ordinal(ZPageView *view, OffsetNumber offnum, int limit)
{
	ZImage		image;
	int			ordinal = 1;

	zmvcc_current(view, offnum, &image);
	if (!zmvcc_skip_aborted(view, &image))
		return 0;
	while (ordinal < limit && step_back(view, &image))
		ordinal++;
	return ordinal;
}

bool
zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal, ZImage *image)
{
	int			steps = zmvcc_ordinal(view, offnum, INT_MAX) - ordinal;

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
