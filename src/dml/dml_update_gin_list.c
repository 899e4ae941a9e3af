/*
 * dml_update_gin_list.c
 *		Whether the pending list of a GIN index has keys of a row.
 *
 * The list consists of pages, each with a link to the next.  Entries are appended at its tail, all
 * of a row one after the other; pages are removed at its head, when their entries have been
 * inserted into the rest of the index.  It is too long to be read for each update.  So a backend
 * remembers the rows that it has found in the list, and the place up to which it has read; next
 * time it goes on there.  This is right as long as the head is the same page with the same LSN:
 * then that page has not been changed, hence not removed, hence the pages behind it have not
 * been removed either.  Otherwise it begins at the head again.
 *
 * An updater asks about a row that exists, and no other backend inserts keys of it meanwhile
 * (dml_update_gin.c), so an answer does not become wrong by what is appended later.
 *
 * LOCKING: no page of the table is locked.  Pages of the index are locked in share mode, in the
 * order of GIN's own scans: the metapage before a page of the list, a page before the next one.
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/btree/row_set.h"
#include "zheap/dml/update.h"

/* Pages of a list that are read for one answer. */
#define MAX_PAGES		16

/* Lists remembered at the same time; with one more all are forgotten. */
#define MAX_LISTS		64

typedef struct PendingList
{
	Oid			index;			/* hash key */
	XLogRecPtr	meta_lsn;		/* of the metapage before all was read; or invalid */
	BlockNumber head;
	XLogRecPtr	head_lsn;
	BlockNumber last;			/* the page that was read last */
	OffsetNumber nread;			/* number of its items that were read */
	MemoryContext context;
	ZRowSet    *rows;
} PendingList;

static HTAB *lists = NULL;

static void
forget_lists(void)
{
	HASH_SEQ_STATUS seq;
	PendingList *list;

	hash_seq_init(&seq, lists);
	while ((list = hash_seq_search(&seq)) != NULL)
		MemoryContextDelete(list->context);
	hash_destroy(lists);
	lists = NULL;
}

/* Return what is remembered of the index's list; nothing if it has not been read. */
static PendingList *
find_list(Relation index)
{
	Oid			relid = RelationGetRelid(index);
	PendingList *list = lists == NULL ? NULL : hash_search(lists, &relid, HASH_FIND, NULL);
	MemoryContext context;

	if (list != NULL)
		return list;
	if (lists != NULL && hash_get_num_entries(lists) >= MAX_LISTS)
		forget_lists();
	if (lists == NULL)
	{
		HASHCTL		info = {.keysize = sizeof(Oid),.entrysize = sizeof(PendingList)};

		lists = hash_create("pending lists of GIN indexes", MAX_LISTS, &info,
							HASH_ELEM | HASH_BLOBS);
	}
	context = AllocSetContextCreate(TopMemoryContext, "pending list of a GIN index",
									ALLOCSET_SMALL_SIZES);
	list = hash_search(lists, &relid, HASH_ENTER, NULL);
	memset(list, 0, sizeof(*list));
	list->index = relid;
	list->head = InvalidBlockNumber;
	list->context = context;
	return list;
}

/* Add the rows of the locked page's items that have not been read yet. */
static void
read_list_page(PendingList *list, Page page)
{
	OffsetNumber n = PageGetMaxOffsetNumber(page);
	ItemPointer before = NULL;

	for (OffsetNumber i = list->nread + 1; i <= n; i++)
	{
		IndexTuple	item = (IndexTuple) PageGetItem(page, PageGetItemId(page, i));

		if (before == NULL || !ItemPointerEquals(before, &item->t_tid))
			(void) zrow_set_add(&list->rows, list->context, &item->t_tid);
		before = &item->t_tid;
	}
	list->nread = n;
}

static Buffer
lock_page(Relation index, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(index, block);

	LockBuffer(buffer, GIN_SHARE);
	return buffer;
}

/*
 * Return the page to read first, locked: the one that was read last, if the list begins as it did
 * then, or its head.  The metapage is locked.
 */
static Buffer
first_page(PendingList *list, Relation index, BlockNumber head)
{
	Buffer		buffer = lock_page(index, head);
	XLogRecPtr	lsn = BufferGetLSNAtomic(buffer);

	if (head != list->head || lsn != list->head_lsn)
	{
		zrow_set_clear(&list->rows);
		list->head = list->last = head;
		list->head_lsn = lsn;
		list->nread = 0;
	}
	else if (list->last != head)
	{
		UnlockReleaseBuffer(buffer);
		buffer = lock_page(index, list->last);
	}
	return buffer;
}

/*
 * Read on from this page, which is locked, and unlocked on exit.  Return whether the end of the
 * list was reached.
 */
static bool
read_pages(PendingList *list, Relation index, Buffer buffer)
{
	BlockNumber next;

	for (int i = 0;; i++)
	{
		Page		page = BufferGetPage(buffer);
		Buffer		before = buffer;

		read_list_page(list, page);
		next = GinPageGetOpaque(page)->rightlink;
		if (next == InvalidBlockNumber || i >= MAX_PAGES)
			break;
		buffer = lock_page(index, next);
		UnlockReleaseBuffer(before);
		list->last = next;
		list->nread = 0;
	}
	UnlockReleaseBuffer(buffer);
	return next == InvalidBlockNumber;
}

/* Read what has been appended since the last time.  The metapage is locked, and is unlocked. */
static bool
read_on(PendingList *list, Relation index, Buffer meta)
{
	XLogRecPtr	lsn = BufferGetLSNAtomic(meta);
	Buffer		first = first_page(list, index, GinPageGetMeta(BufferGetPage(meta))->head);

	UnlockReleaseBuffer(meta);
	if (!read_pages(list, index, first))
		return false;
	list->meta_lsn = lsn;
	return true;
}

bool
zgin_may_be_pending(Relation index, ItemPointer tid)
{
	PendingList *list = find_list(index);
	bool		is_empty;
	Buffer		meta;

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	meta = lock_page(index, GIN_METAPAGE_BLKNO);
	is_empty = GinPageGetMeta(BufferGetPage(meta))->head == InvalidBlockNumber;
	/* without WAL the pages show no change */
	if (!is_empty && RelationNeedsWAL(index) && BufferGetLSNAtomic(meta) != list->meta_lsn)
	{
		if (!read_on(list, index, meta))
			return true;
	}
	else
		UnlockReleaseBuffer(meta);
	return !is_empty && (!RelationNeedsWAL(index) || zrow_set_has(list->rows, tid));
}
