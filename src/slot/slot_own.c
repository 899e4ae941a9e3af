/*
 * slot_own.c
 *		The slots on lock pages that the backend's transaction has.
 *
 * A page may have tens of thousands of such slots, so a transaction remembers its own instead of
 * searching for it.  It may have lost a slot: once a savepoint has rolled back all that was done
 * by the slot, that slot was free.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "zheap/page/page.h"
#include "zheap/slot/slot.h"

typedef struct OwnKey
{
	Oid			spc;
	Oid			rel;
	BlockNumber block;
	uint32		is_local;		/* a temporary table's file may have the same number */
} OwnKey;

typedef struct OwnSlot
{
	OwnKey		key;
	int			slotno;
} OwnSlot;

static HTAB *own_slots;			/* NULL: none in this transaction so far */
static MemoryContextCallback own_callback;

/* Callback: the transaction's memory has been freed. */
static void
own_slots_reset(void *arg)
{
	own_slots = NULL;
}

/*
 * Create the hash table, for the top-level transaction: the slots of subtransactions may return to
 * their parents.
 */
static void
own_slots_open(void)
{
	HASHCTL		ctl = {0};
	MemoryContext context = AllocSetContextCreate(TopTransactionContext, "zheap lock slots",
												  ALLOCSET_SMALL_SIZES);

	ctl.keysize = sizeof(OwnKey);
	ctl.entrysize = sizeof(OwnSlot);
	ctl.hcxt = context;
	own_slots = hash_create("zheap lock slots", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	own_callback.func = own_slots_reset;
	MemoryContextRegisterResetCallback(context, &own_callback);
}

/* The key has the file, not the table: a rewrite makes other pages. */
static OwnKey
slot_key(ZPageView *view)
{
	RelFileLocator locator = view->rel->rd_locator;
	OwnKey		key = {locator.spcOid, locator.relNumber, view->block, view->local};

	return key;
}

void
zslot_own_set(ZPageView *view, int slotno)
{
	OwnKey		key = slot_key(view);
	OwnSlot    *slot;

	Assert(zpage_is_lock_slot(slotno) && slotno <= ZPAGE_MAX_LOCK_SLOTNO);
	if (own_slots == NULL)
		own_slots_open();
	slot = hash_search(own_slots, &key, HASH_ENTER, NULL);
	slot->slotno = slotno;
}

int
zslot_own_get(ZPageView *view)
{
	OwnKey		key = slot_key(view);
	OwnSlot    *slot = own_slots ? hash_search(own_slots, &key, HASH_FIND, NULL) : NULL;

	return slot ? slot->slotno : 0;
}
