/*
 * dml_full_page.c
 *		The page on which an update has found no space.
 *
 * An update that makes all rows of a table longer would prune each page once for each of its
 * rows, although rows that it has deleted or made longer itself free nothing before it ends.  So
 * the same (sub)transaction does not try again as long as the horizon stays.  Space that others
 * free meanwhile is left to the next transaction: a row may be moved that could have stayed.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/dml/dml.h"
#include "zheap/dml/target.h"
#include "zheap/undo/undo_horizon.h"

static struct
{
	RelFileLocator locator;
	BlockNumber block;
	FullTransactionId fxid;		/* invalid if there is no such page */
	FullTransactionId horizon;
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

void
zfull_page_note(const ZTarget *target)
{
	full.locator = target->rel->rd_locator;
	full.block = BufferGetBlockNumber(target->buffer);
	full.fxid = target->fxid;
	full.horizon = zundo_horizon();
}

void
zdml_at_subabort(void)
{
	full.fxid = InvalidFullTransactionId;
}
