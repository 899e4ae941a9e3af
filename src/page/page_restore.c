/*
 * page_restore.c
 *		Putting rows back as they were before an aborted transaction.
 *
 * R1: restoring gives the rows as everybody else saw them; doing it twice
 * changes nothing, because the slot no longer names the transaction.
 */
#include "postgres.h"

#include "zheap/page/page.h"

static void
row_restore(Page page, const ZRowRestore *restore)
{
	ItemId		lp = PageGetItemId(page, restore->offnum);
	ZRowHeader	hdr = restore->hdr;

	/* row locks are not the aborted transaction's to take away */
	switch (restore->kind)
	{
		case ZRESTORE_KILL:
			ItemIdSetDead(lp);
			break;
		case ZRESTORE_HEADER:
			hdr.flags2 |= zpage_row_lock_bits(page, restore->offnum);
			zpage_row_header_apply(page, restore->offnum, &hdr);
			break;
		case ZRESTORE_BODY:
			{
				ZRowPlan	plan = {0};

				plan.op = ZOP_UPDATE;
				plan.offnum = restore->offnum;
				plan.hdr = restore->hdr;
				plan.hdr.flags2 |= zpage_row_lock_bits(page, restore->offnum);
				plan.prefix = restore->prefix;
				plan.suffix = restore->suffix;
				plan.midlen = restore->midlen;
				plan.mid = restore->mid;
				zpage_row_replace_apply(page, &plan);
				break;
			}
	}
}

/*
 * Dead rows first: what they held makes sure that the others fit, although each
 * row's own space was kept for it anyway.
 */
void
zpage_restore_apply(Page page, Page slotpage, const ZRestorePlan *plan)
{
	int			i;

	for (i = 0; i < plan->nrows; i++)
	{
		if (plan->rows[i].kind == ZRESTORE_KILL)
			row_restore(page, &plan->rows[i]);
	}
	for (i = 0; i < plan->nrows; i++)
	{
		if (plan->rows[i].kind != ZRESTORE_KILL)
			row_restore(page, &plan->rows[i]);
	}
	*zpage_slot(page, slotpage, plan->slotno) = plan->next;
	zpage_assert_valid(page);
}
