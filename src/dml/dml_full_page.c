/*
 * dml_full_page.c
 *		The page on which an update has found no space.
 *
 * An update that makes all rows of a table longer would prune each page once for each of its
 * rows, although rows that it has deleted or made longer itself free nothing before it ends.  So
 * the same (sub)transaction does not try again as long as the horizon stays, nor does it count the
 * space again for a row that needs more than there was.  Space that others free meanwhile is left
 * to the next transaction: a row may be moved that could have stayed.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/dml/dml.h"
#include "zheap/dml/target.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_horizon.h"

static struct
{
	RelFileLocator locator;
	BlockNumber block;
	FullTransactionId fxid;		/* invalid if there is no such page */
	FullTransactionId horizon;
	Size		space;			/* bytes that were free on it */
}			full;

bool
zfull_page_is(const ZTarget *target)
{
	return FullTransactionIdIsValid(full.fxid) &&
		full.block == BufferGetBlockNumber(target->buffer) &&
		FullTransactionIdEquals(full.fxid, target->fxid) &&
		FullTransactionIdEquals(full.horizon, zundo_horizon()) &&
		RelFileLocatorEquals(full.locator, target->rel->rd_locator);
}

bool
zfull_page_lacks(const ZTarget *target, Size need)
{
	return zfull_page_is(target) && need > full.space;
}

void
zfull_page_note(const ZTarget *target)
{
	full.locator = target->rel->rd_locator;
	full.block = BufferGetBlockNumber(target->buffer);
	full.fxid = target->fxid;
	full.horizon = zundo_horizon();
	full.space = zpage_free_total(target->view.page);
}

void
zdml_at_subabort(void)
{
	full.fxid = InvalidFullTransactionId;
}
