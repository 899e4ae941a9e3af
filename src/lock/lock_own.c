/*
 * lock_own.c
 *		The row locks that the backend's transaction holds.
 *
 * A transaction that requests a lock again, as foreign key checks of a bulk load do, should write
 * no second record of it, and not search all that it has done to the page.  So the backend
 * remembers, for each row and mode, which of its (sub)transactions took the lock.  Whether that
 * one still holds it is checked when it matters, so that savepoints need no attention.
 *
 * The line pointer of a locked row is not used again while the transaction is in progress
 * (prune_keeps_locked and pointer_is_locked, dml_prune.c), so a TID identifies the row (K3).
 *
 * The number of remembered rows is limited.  When the limit is reached all are forgotten, and from
 * then on the transaction's records are read.
 *
 * LOCKING: none; this is memory of the backend.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "zheap/base/base.h"
#include "zheap/lock/lock.h"
#include "zheap/mvcc/status.h"

/* maximum of remembered rows, of about 80 bytes each */
#define MAX_ROWS	200000

#define N_MODES		(LockTupleExclusive + 1)

typedef struct OwnKey
{
	Oid			spc;
	Oid			rel;
	BlockNumber block;
	OffsetNumber offnum;
	uint16		is_local;		/* a temporary table's file may have the same number */
} OwnKey;

typedef struct OwnRow
{
	OwnKey		key;
	FullTransactionId holder[N_MODES];	/* for each mode; invalid: none */
} OwnRow;

/* Rows that need no hash table: most transactions lock one or two. */
#define FEW_ROWS	4

static struct
{
	LocalTransactionId lxid;	/* the transaction of all other fields, or invalid */
	int			nfew;
	OwnRow		few[FEW_ROWS];
	HTAB	   *rows;			/* all rows; NULL: they are in "few" */
	MemoryContextCallback callback;
	bool		forgotten;		/* locks of this transaction have been forgotten */
}			own;

/* Callback: the transaction's memory has been freed. */
static void
own_reset(void *arg)
{
	own.lxid = InvalidLocalTransactionId;
	own.rows = NULL;
}

/*
 * Move the rows to a hash table, for the top-level transaction: whether a subtransaction still
 * holds its locks is checked later.
 */
static void
rows_open(void)
{
	HASHCTL		ctl = {0};
	MemoryContext context = AllocSetContextCreate(TopTransactionContext, "zheap row locks",
												  ALLOCSET_DEFAULT_SIZES);
	HTAB	   *rows;

	ctl.keysize = sizeof(OwnKey);
	ctl.entrysize = sizeof(OwnRow);
	ctl.hcxt = context;
	rows = hash_create("zheap row locks", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (int i = 0; i < own.nfew; i++)
		*(OwnRow *) hash_search(rows, &own.few[i].key, HASH_ENTER, NULL) = own.few[i];
	/* the table is complete */
	own.callback.func = own_reset;
	MemoryContextRegisterResetCallback(context, &own.callback);
	own.rows = rows;
}

/* Return whether "own" is about the transaction in progress. */
static bool
own_is_known(void)
{
	return own.lxid == zcompat_my_lxid();
}

static OwnRow *
few_find(const OwnKey *key)
{
	for (int i = 0; i < own.nfew; i++)
	{
		if (memcmp(&own.few[i].key, key, sizeof(*key)) == 0)
			return &own.few[i];
	}
	return NULL;
}

/* Return what is remembered of the row; NULL if nothing. */
static OwnRow *
own_find(const OwnKey *key)
{
	if (!own_is_known())
		return NULL;
	return own.rows ? hash_search(own.rows, key, HASH_FIND, NULL) : few_find(key);
}

static bool
is_of_file(const OwnKey *key, Relation rel)
{
	RelFileLocator locator = rel->rd_locator;

	return key->spc == locator.spcOid && key->rel == locator.relNumber &&
		key->is_local == RelationUsesLocalBuffers(rel);
}

/* Forget the rows of a table's file; all rows if "rel" is NULL. */
static void
rows_remove(Relation rel)
{
	HASH_SEQ_STATUS seq;
	OwnRow	   *row;

	hash_seq_init(&seq, own.rows);
	while ((row = hash_seq_search(&seq)) != NULL)
	{
		if (rel == NULL || is_of_file(&row->key, rel))
			hash_search(own.rows, &row->key, HASH_REMOVE, NULL);
	}
}

/* Add a row that is not there yet.  Forgets all rows first if there are MAX_ROWS. */
static OwnRow *
own_enter(const OwnKey *key)
{
	OwnRow	   *row;

	if (own.rows == NULL && own.nfew < FEW_ROWS)
		row = &own.few[own.nfew++];
	else
	{
		if (own.rows == NULL)
			rows_open();
		if (hash_get_num_entries(own.rows) >= MAX_ROWS)
		{
			rows_remove(NULL);
			own.forgotten = true;
		}
		row = hash_search(own.rows, key, HASH_ENTER, NULL);
	}
	memset(row, 0, sizeof(*row));
	row->key = *key;
	return row;
}

/* The key has the file, not the table: a rewrite makes other rows. */
static OwnKey
key_of(Relation rel, BlockNumber block, OffsetNumber offnum)
{
	RelFileLocator locator = rel->rd_locator;
	OwnKey		key = {locator.spcOid, locator.relNumber, block, offnum,
	RelationUsesLocalBuffers(rel)};

	return key;
}

void
zlock_own_add(Relation rel, BlockNumber block, OffsetNumber offnum, LockTupleMode mode,
			  FullTransactionId fxid)
{
	OwnKey		key = key_of(rel, block, offnum);
	OwnRow	   *row;

	Assert(OffsetNumberIsValid(offnum) && offnum <= MaxHeapTuplesPerPage);
	Assert(mode <= LockTupleExclusive);
	Assert(TransactionIdIsCurrentTransactionId(zfxid_xid(fxid)));
	if (!own_is_known())
	{
		Assert(own.rows == NULL);
		own.lxid = zcompat_my_lxid();
		own.nfew = 0;
		own.forgotten = false;
	}
	row = own_find(&key);
	if (row == NULL)
		row = own_enter(&key);
	/* keep the holder that has the lock already: it may outlive the savepoint of the new one */
	if (!FullTransactionIdIsValid(row->holder[mode]) ||
		zmvcc_xact_status(row->holder[mode]) != ZXACT_OWN)
		row->holder[mode] = fxid;
}

int
zlock_own_strongest(Relation rel, BlockNumber block, OffsetNumber offnum, bool *exact)
{
	OwnKey		key = key_of(rel, block, offnum);
	OwnRow	   *row = own_find(&key);

	*exact = !own_is_known() || !own.forgotten;
	for (int mode = N_MODES - 1; row && mode >= 0; mode--)
	{
		if (FullTransactionIdIsValid(row->holder[mode]) &&
			zmvcc_xact_status(row->holder[mode]) == ZXACT_OWN)
			return mode;
	}
	return -1;
}

/* Other rows will get the line pointers of the rows of the file (K3). */
void
zlock_own_forget(Relation rel)
{
	if (!own_is_known())
		return;
	if (own.rows == NULL)
	{
		int			kept = 0;

		for (int i = 0; i < own.nfew; i++)
		{
			if (!is_of_file(&own.few[i].key, rel))
				own.few[kept++] = own.few[i];
		}
		own.nfew = kept;
		return;
	}
	rows_remove(rel);
}
