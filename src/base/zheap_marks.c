/*
 * zheap_marks.c
 *		How often rows have lost the mark that they have several keys, since the server began.
 *
 * An index scan that has read an index page before the last of a row's stale entries was removed
 * must not take the row for one that never had any: see src/index/README.md, N5.  So it remembers
 * the count from before it read the page, and compares keys if there is another now.
 *
 * LOCKING: none.  The count goes up before a page loses marks, by whoever has it locked; a scan
 * looks at the count after it has looked at the page.
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
