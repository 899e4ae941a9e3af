/*
 * slot_hint.c
 *		Where this backend last found a slot on a page.
 */
#include "postgres.h"

#include "zheap/page/page.h"

#include "common/hashfn.h"

#include "slot_private.h"

#define HINTS		256			/* a power of two */

SlotHint *
slot_hint(ZPageView *view)
{
	static SlotHint hints[HINTS];
	Oid			rel = view->rel->rd_locator.relNumber;
	SlotHint   *hint = &hints[hash_combine(murmurhash32(rel), murmurhash32(view->block)) &
							  (HINTS - 1)];

	if (hint->rel != rel || hint->block != view->block)
	{
		hint->rel = rel;
		hint->block = view->block;
		hint->slotno = 1;
		hint->lock_slotno = 0;
	}
	Assert(hint->slotno >= 1 && hint->slotno <= ZPAGE_MAX_SLOTNO);
	Assert(hint->lock_slotno == 0 || zpage_is_lock_slot(hint->lock_slotno));
	return hint;
}
