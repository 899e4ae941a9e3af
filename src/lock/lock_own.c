/*
 * lock_own.c
 *		The row locks that the backend's transaction holds.
 *
 * A transaction that asks for a lock again, as foreign key checks of a load do, is to
 * write no second record of it, and not to look through all that it has done to the
 * page.  So the backend remembers, for each row and mode, which of its (sub)transactions
 * took the lock; whether that one still holds it is asked when it matters, so that
 * savepoints need no attention.
 *
 * The line pointer of a locked row is not used again while the transaction runs
 * (prune_keeps_locked and pointer_is_locked, dml_prune.c), so a place on a page is the
 * row (K3).
 *
 * What is remembered has a limit.  When it is reached all is forgotten, and from then on
 * the records tell.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "zheap/lock/lock.h"

/* of about 80 bytes each */
#define MAX_ROWS	200000

#define N_MODES		(LockTupleExclusive + 1)

typedef struct OwnKey
{
	Oid			spc;
	Oid			rel;
	BlockNumber block;
	OffsetNumber offnum;
	uint16		unused;			/* 0 */
} OwnKey;

typedef struct OwnRow
{
	OwnKey		key;
	FullTransactionId holder[N_MODES];	/* of each mode, or invalid */
} OwnRow;

static struct
{
	HTAB	   *rows;			/* NULL: none in this transaction so far */
	MemoryContextCallback callback;
	bool		forgotten;		/* some, in this transaction */
}			own;

/* The transaction's memory is gone. */
static void
own_reset(void *arg)
{
	own.rows = NULL;
	own.forgotten = false;
}

/*
 * For the top-level transaction: whether a subtransaction still holds a lock is asked later.
 */
static void
own_open(void)
{
	HASHCTL		ctl = {0};
	MemoryContext context = AllocSetContextCreate(TopTransactionContext, "zheap row locks",
												  ALLOCSET_DEFAULT_SIZES);

	ctl.keysize = sizeof(OwnKey);
	ctl.entrysize = sizeof(OwnRow);
	ctl.hcxt = context;
	own.rows = hash_create("zheap row locks", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	own.callback.func = own_reset;
	MemoryContextRegisterResetCallback(context, &own.callback);
}

/* By the file: a rewrite makes other rows. */
static OwnKey
key_of(Relation rel, BlockNumber block, OffsetNumber offnum)
{
	ZRelLocator locator = zrel_locator(rel);
	OwnKey		key = {zloc_spc(locator), zloc_rel(locator), block, offnum, 0};

	return key;
}

void
zlock_own_add(Relation rel, BlockNumber block, OffsetNumber offnum, LockTupleMode mode,
			  FullTransactionId fxid)
{
	OwnKey		key = key_of(rel, block, offnum);
	OwnRow	   *row;
	bool		found;

	Assert(OffsetNumberIsValid(offnum) && offnum <= MaxHeapTuplesPerPage);
	Assert(mode <= LockTupleExclusive);
	Assert(TransactionIdIsCurrentTransactionId(zfxid_xid(fxid)));
	if (own.rows && hash_get_num_entries(own.rows) >= MAX_ROWS)
	{
		HASH_SEQ_STATUS seq;

		hash_seq_init(&seq, own.rows);
		while ((row = hash_seq_search(&seq)) != NULL)
			hash_search(own.rows, &row->key, HASH_REMOVE, NULL);
		own.forgotten = true;
	}
	if (own.rows == NULL)
		own_open();
	row = hash_search(own.rows, &key, HASH_ENTER, &found);
	if (!found)
		memset(row->holder, 0, sizeof(row->holder));
	row->holder[mode] = fxid;
}

int
zlock_own_strongest(Relation rel, BlockNumber block, OffsetNumber offnum, bool *exact)
{
	OwnKey		key = key_of(rel, block, offnum);
	OwnRow	   *row = own.rows ? hash_search(own.rows, &key, HASH_FIND, NULL) : NULL;

	*exact = !own.forgotten;
	for (int mode = N_MODES - 1; row && mode >= 0; mode--)
	{
		if (FullTransactionIdIsValid(row->holder[mode]) &&
			zmvcc_xact_status(row->holder[mode]) == ZXACT_OWN)
			return mode;
	}
	return -1;
}

/* Other rows are going to have the places of those that the file had (K3). */
void
zlock_own_forget(Relation rel)
{
	ZRelLocator locator = zrel_locator(rel);
	HASH_SEQ_STATUS seq;
	OwnRow	   *row;

	if (own.rows == NULL)
		return;
	hash_seq_init(&seq, own.rows);
	while ((row = hash_seq_search(&seq)) != NULL)
	{
		if (row->key.spc == zloc_spc(locator) && row->key.rel == zloc_rel(locator))
			hash_search(own.rows, &row->key, HASH_REMOVE, NULL);
	}
}
