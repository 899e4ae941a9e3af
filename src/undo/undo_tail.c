/*
 * undo_tail.c
 *		The pin of the page that the backend appends to.
 *
 * A look into the buffer table costs as much as all the rest of appending a record, so the
 * pin is kept until the transaction ends or the page is full.  It belongs to the top
 * transaction, as do the records: a portal or subtransaction that ends leaves it alone.
 *
 * Buffers of a file that goes away must not be pinned (U8), so the pin is given back early where
 * we take the file away ourselves: when we move the relation, and when a subtransaction
 * aborts, which may have made it.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/resowner.h"

#include "undo_private.h"

Buffer
zundo_tail_pin(Relation rel, ReadBufferMode mode)
{
	ResourceOwner owner = CurrentResourceOwner;

	Assert(MyUndo.entered && !BufferIsValid(MyUndo.tail));	/* U8 */
	/* on error the (sub)transaction's abort sets the resource owner right */
	CurrentResourceOwner = TopTransactionResourceOwner;
	if (mode == RBM_ZERO_AND_LOCK || !BufferIsValid(MyUndo.recent) ||
		!ReadRecentBuffer(zrel_locator(rel), MAIN_FORKNUM, MyUndo.block, MyUndo.recent))
		MyUndo.recent = ReadBufferExtended(rel, MAIN_FORKNUM, MyUndo.block, mode, NULL);
	CurrentResourceOwner = owner;
	MyUndo.tail = MyUndo.recent;
	return MyUndo.tail;
}

void
zundo_tail_unpin(void)
{
	ResourceOwner owner = CurrentResourceOwner;

	if (!BufferIsValid(MyUndo.tail))
		return;
	CurrentResourceOwner = TopTransactionResourceOwner;
	ReleaseBuffer(MyUndo.tail);
	CurrentResourceOwner = owner;
	MyUndo.tail = InvalidBuffer;
}
