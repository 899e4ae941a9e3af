/*
 * zheap_marks.c
 *		Count how often rows have lost the mark that they have several keys, since the server
 *		started.
 *
 * An index scan may have read an index page before the last of a row's stale entries was removed:
 * it must not take the row for one that never had any (src/index/README.md, N5).  So it remembers
 * the count from before it read the page, and compares keys if the count has changed.
 *
 * Another kind of mark is that of an index entry as dead.  The newest killer is the newest
 * transaction that has let a scan mark an entry of a row with several keys: it deleted the row, or
 * gave it another key.  So no entry was marked because of a later one.  Marks outlive the server,
 * and come to a standby in images of pages.  Therefore the newest killer is the next xid at first
 * (src/index/README.md, "What is deleted as marked").
 *
 * LOCKING: none.  The backend that has a page locked increases the count before it clears marks
 * there; a scan reads the count after it has looked at the page.  A scan advances the newest
 * killer before it locks the leaf on which it marks the entry, and a backend that removes the
 * entry reads it with the leaf locked exclusively: the leaf's lock orders the two.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/shmem.h"

#include "zheap/base/base.h"

ZMarks	   *zheap_marks = NULL;

Size
zheap_marks_shmem_size(void)
{
	return sizeof(ZMarks);
}

void
zheap_marks_shmem_init(void)
{
	bool		found;

	zheap_marks = ShmemInitStruct("zheap marks", zheap_marks_shmem_size(), &found);
	if (found)
		return;
	pg_atomic_init_u64(&zheap_marks->cleared, 0);
	pg_atomic_init_u64(&zheap_marks->newest_killer, 0);
}

void
zheap_note_marks_cleared(void)
{
	(void) pg_atomic_fetch_add_u64(&zheap_marks->cleared, 1);
}

FullTransactionId
zheap_newest_killer(void)
{
	uint64		newest = pg_atomic_read_u64(&zheap_marks->newest_killer);

	if (unlikely(newest == 0))
	{
		uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

		Assert(!RecoveryInProgress());
		/* if another backend was first, "newest" is its value */
		if (pg_atomic_compare_exchange_u64(&zheap_marks->newest_killer, &newest, next))
			newest = next;
	}
	return FullTransactionIdFromU64(newest);
}

void
zheap_note_killer(FullTransactionId fxid)
{
	uint64		value = U64FromFullTransactionId(fxid);
	uint64		newest;

	/* nothing is marked during recovery, nor by a scan that has begun then */
	if (RecoveryInProgress())
		return;
	newest = U64FromFullTransactionId(zheap_newest_killer());
	while (newest < value &&
		   !pg_atomic_compare_exchange_u64(&zheap_marks->newest_killer, &newest, value))
		;
}
