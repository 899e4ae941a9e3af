/*
 * page_prune.c
 *		Prune a page: reclaim space that no snapshot needs.
 *
 * LOCKING: the caller holds the page's exclusive lock.  No cleanup lock is needed: readers use
 * copies.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

/*
 * Return the xid for pd_prune_xid: the oldest deletion left, when pruning will next find
 * something.  Deletions in overflow slots are left to VACUUM.
 */
static TransactionId
oldest_deletion(Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	TransactionId oldest = InvalidTransactionId;
	OffsetNumber off;

	for (off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		const char *row = (const char *) page + ItemIdGetOffset(lp);
		TransactionId xid;

		if (!ItemIdIsNormal(lp) || !(zrow_flags(row) & ZROW_DELETED) ||
			zrow_slotno(row) == 0 || zrow_slotno(row) > ZPAGE_MAX_INPAGE)
			continue;
		xid = XidFromFullTransactionId(zpage_slot_fxid(zpage_slot(page, NULL, zrow_slotno(row))));
		if (TransactionIdIsValid(xid) &&
			(!TransactionIdIsValid(oldest) || TransactionIdPrecedes(xid, oldest)))
			oldest = xid;
	}
	return oldest;
}

/* Rows become dead first, as their bodies are the space that compaction reclaims. */
void
zpage_prune_apply(Page page, const ZPrunePlan *plan)
{
	int			i;

	for (i = 0; i < plan->ndead; i++)
	{
		Assert(ItemIdIsNormal(PageGetItemId(page, plan->dead[i])));
		ItemIdSetDead(PageGetItemId(page, plan->dead[i]));
	}

	for (i = 0; i < plan->ntrim; i++)
	{
		ItemId		lp = PageGetItemId(page, plan->trim[i]);
		uint32		len;
		char	   *row = zpage_row(page, plan->trim[i], &len, NULL);

		row[0] &= ~ZROW_PADDED;
		lp->lp_len = len;
	}

	for (i = 0; i < plan->nunused; i++)
	{
		ItemId		lp = PageGetItemId(page, plan->unused[i]);

		Assert(ItemIdIsDead(lp) && !ItemIdHasStorage(lp));
		ItemIdSetUnused(lp);
		PageSetHasFreeLinePointers(page);
	}
	if (plan->nunused > 0)
		PageTruncateLinePointerArray(page);

	for (i = 0; i < plan->nsingle; i++)
	{
		uint32		len;
		char	   *row = zpage_row(page, plan->single[i], &len, NULL);

		Assert(zrow_has_several_keys(row));
		row[1] &= ~ZROW2_SEVERAL_KEYS;
	}
	/* the page is not all-visible until no such scan is left (P6) */
	zpage_note_reused(page, plan->remembered);
	zpage_compact_apply(page);
	((PageHeader) page)->pd_prune_xid = oldest_deletion(page);
	zpage_assert_valid(page);
}
