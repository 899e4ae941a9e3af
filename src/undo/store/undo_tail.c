/*
 * undo_tail.c
 *		The pin of the page that the backend appends to.
 *
 * To pin the page for each record costs as much as all the rest of appending one.  So a
 * transaction that writes more than a few keeps the pin until it ends or the page is full; from
 * its first record on if the transaction before wrote several.  The pin belongs to the top
 * transaction, as do the records: a portal or subtransaction that ends leaves it alone.
 *
 * Buffers of a file that is removed must not be pinned (U8), so the pin is given back early
 * where this backend removes the file: when it moves the relation, and when a subtransaction
 * aborts, which may have made it.  Nor must buffers of a file be pinned that is written out as
 * a whole (FlushRelationBuffers): with wal_level = minimal the server does that to files which
 * the transaction has made, in smgrDoPendingSyncs(), between PRE_COMMIT and COMMIT.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/resowner.h"

#include "zheap/base/pg_compat_buflock.h"

#include "store_private.h"
#include "undo_state.h"

/*
 * Number of records of a transaction after which the pin is kept.  The first kept pin costs as
 * much as some lookups, as the top transaction's resource owner has no room for buffers yet.
 */
#define FEW_RECORDS		4

/* With fewer shared buffers no pin is kept: idle transactions must leave buffers to others. */
#define FEW_BUFFERS		(4 * MaxBackends)

/* Pin the page by its last buffer, if that still has it, else by a lookup. */
static Buffer
pin(Relation rel, ReadBufferMode mode)
{
	if (mode == RBM_ZERO_AND_LOCK || !BufferIsValid(MyUndo.recent) ||
		!ReadRecentBuffer(rel->rd_locator, MAIN_FORKNUM, MyUndo.block, MyUndo.recent))
		MyUndo.recent = ReadBufferExtended(rel, MAIN_FORKNUM, MyUndo.block, mode, NULL);
	return MyUndo.recent;
}

Buffer
zundo_tail_pin(Relation rel, ReadBufferMode mode)
{
	ResourceOwner owner = CurrentResourceOwner;

	Assert(MyUndo.entered && !BufferIsValid(MyUndo.tail));	/* U8 */
	if ((MyUndo.records < FEW_RECORDS && !MyUndo.several_before) || NBuffers < FEW_BUFFERS ||
		MyUndo.ending)
		return pin(rel, mode);
	/* on error the (sub)transaction's abort restores the resource owner */
	CurrentResourceOwner = TopTransactionResourceOwner;
	MyUndo.tail = pin(rel, mode);
	CurrentResourceOwner = owner;
	return MyUndo.tail;
}

void
zundo_tail_unlock(Buffer buffer)
{
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (buffer != MyUndo.tail)
		ReleaseBuffer(buffer);
}

void
zundo_tail_unpin(void)
{
	ResourceOwner owner = CurrentResourceOwner;

	if (!BufferIsValid(MyUndo.tail))
		return;
	/* an ERROR may have left this page locked, if this is an abort (19) */
	zcompat_unlock_after_error(MyUndo.tail);
	CurrentResourceOwner = TopTransactionResourceOwner;
	ReleaseBuffer(MyUndo.tail);
	CurrentResourceOwner = owner;
	MyUndo.tail = InvalidBuffer;
}
