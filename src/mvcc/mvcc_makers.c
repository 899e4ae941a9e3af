/*
 * mvcc_makers.c
 *		The makers of versions on a reconstructed page.
 *
 * LOCKING: none, everything is private to the view.
 */
#include "postgres.h"

#include "mvcc_reconstruct.h"

bool
zreconstruct_name(const ZPageView *view, ZRowVersion *version)
{
	const ZReconstructMaker *maker = &view->reconstruct->makers[version->offnum];

	if (view->reconstruct->state[version->offnum] != ROW_NAMED)
		return false;
	/* the slot from which the row came, named by some row of the page */
	Assert(version->hdr.slotno >= 1 && version->hdr.slotno <= ZPAGE_MAX_INPAGE);
	version->hdr.slotno = maker->slotno;
	if (!FullTransactionIdIsValid(maker->slot.fxid))
		zmodifier_set_all_visible(&version->modifier);
	else
	{
		version->modifier.kind = maker->upper_bound ? ZMODIFIER_UPPER_BOUND : ZMODIFIER_EXACT;
		version->modifier.place = maker->slot;
	}
	version->next_fxid = maker->next_fxid;
	if (FullTransactionIdIsValid(maker->next_fxid))
		version->next_cid = maker->next_cid;
	return true;
}

void
zreconstruct_free(ZPageView *view)
{
	if (view->reconstruct)
		pfree(view->reconstruct);
	view->reconstruct = NULL;
	view->reconstructed = false;
	view->original = NULL;
}
