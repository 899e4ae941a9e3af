/*
 * zheap_marks.c
 *		Count how often rows have lost the mark that they have several keys, since the server
 *		started.
 *
 * An index scan may have read an index page before the last of a row's stale entries was removed:
 * it must not take the row for one that never had any (src/index/README.md, N5).  So it remembers
 * the count from before it read the page, and compares keys if the count has changed.
 *
 * LOCKING: none.  The backend that has a page locked increases the count before it clears marks
 * there; a scan reads the count after it has looked at the page.
 */
#include "postgres.h"

#include "storage/shmem.h"

#include "zheap/base/base.h"

pg_atomic_uint64 *zheap_marks = NULL;

Size
zheap_marks_shmem_size(void)
{
	return sizeof(pg_atomic_uint64);
}

void
zheap_marks_shmem_init(void)
{
	bool		found;

	zheap_marks = ShmemInitStruct("zheap marks", zheap_marks_shmem_size(), &found);
	if (!found)
		pg_atomic_init_u64(zheap_marks, 0);
}

void
zheap_note_marks_cleared(void)
{
	(void) pg_atomic_fetch_add_u64(zheap_marks, 1);
}
