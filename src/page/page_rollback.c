/*
 * page_rollback.c
 *		Roll rows back to what they were before an aborted transaction.
 *
 * R1: rolling back restores the rows as all others saw them; doing it twice changes nothing,
 * because the slot no longer names the transaction.
 *
 * LOCKING: the caller holds the exclusive lock of each page that is passed.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

/* Roll one row back.  Nothing here grows a row: the version before fits the row's space. */
static void
row_rollback(Page page, const ZRowRollback *rollback)
{
	ItemId		lp = PageGetItemId(page, rollback->offnum);
	ZRowHeader	hdr = rollback->hdr;
	bool		locked;

	Assert(ItemIdIsNormal(lp));
	/* row locks of other transactions stay */
	switch (rollback->kind)
	{
		case ZROLLBACK_KILL:
			locked = zpage_row_lock_bits(page, rollback->offnum) != 0;
			ItemIdSetDead(lp);
			/* they still count for this line pointer: see zdml_reclaim_pointers */
			if (locked)
				lp->lp_off = ZPAGE_DEAD_LOCKED;
			break;
		case ZROLLBACK_HEADER:
			hdr.flags2 |= zpage_row_lock_bits(page, rollback->offnum);
			zpage_row_header_apply(page, rollback->offnum, &hdr);
			break;
		case ZROLLBACK_BODY:
			{
				ZRowPlan	plan = {0};

				plan.op = ZOP_UPDATE;
				plan.offnum = rollback->offnum;
				plan.hdr = rollback->hdr;
				plan.hdr.flags2 |= zpage_row_lock_bits(page, rollback->offnum);
				plan.prefix = rollback->prefix;
				plan.suffix = rollback->suffix;
				plan.midlen = rollback->midlen;
				plan.mid = rollback->mid;
				zpage_row_replace_apply(page, &plan);
				break;
			}
	}
}

void
zpage_slot_rollback_apply(ZPageSlot *slot, const ZRollbackPlan *plan)
{
	zpage_slot_set(slot, &plan->next, plan->next_count);
}

/*
 * Dead rows come first: the space that they free ensures that the others fit, although each row's
 * own space was kept for it anyway.
 */
void
zpage_rollback_apply(Page page, Page overflow, const ZRollbackPlan *plan)
{
	int			i;

	Assert(plan->nrows >= 0 && plan->nrows <= (int) PageGetMaxOffsetNumber(page));
	for (i = 0; i < plan->nrows; i++)
	{
		if (plan->rows[i].kind == ZROLLBACK_KILL)
			row_rollback(page, &plan->rows[i]);
	}
	for (i = 0; i < plan->nrows; i++)
	{
		if (plan->rows[i].kind != ZROLLBACK_KILL)
			row_rollback(page, &plan->rows[i]);
	}
	zpage_slot_rollback_apply(zpage_slot(page, overflow, plan->slotno), plan);
	/* R1, S3: if the slot is free now, no unmarked row names it */
	Assert(FullTransactionIdIsValid(plan->next.fxid) || zpage_slot_is_left(page, plan->slotno));
	zpage_assert_valid(page);
}
