/*
 * undo_local.c
 *		Undo of temporary tables, in this backend's memory.
 *
 * Only this backend reads the pages of its temporary tables, and a transaction of its own that
 * has ended is visible to all snapshots that it takes afterwards.  So their undo is needed
 * until the transaction ends, and beyond that only if rows of an aborted (sub)transaction are
 * still to be rolled back, which is done when a later transaction opens a temporary table.  The
 * undo of only one transaction is here at a time.  (A snapshot that another session has taken
 * and this one imports may be older than that, and is refused.)
 *
 * Rolling back can be cancelled; progress is remembered undo page by undo page.  A commit waits
 * for only a little of it.  It may happen long after the transaction: the horizon may have
 * passed it, and the commit log have forgotten it.  So it is remembered here which of the
 * transaction and its subtransactions committed.
 *
 * Pages look like those of the undo relation; their pointers name blocks from LOCAL_BLOCK on,
 * which the undo relation never reaches.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "log_private.h"

#define LOCAL_BLOCK		((BlockNumber) 0x80000000)

/* Number of pages that are kept for the next transaction; most need no more. */
#define PAGES_KEPT		16

static struct
{
	MemoryContext context;		/* context of pages, files and committed */
	Page	   *pages;
	BlockNumber npages;			/* number of pages in use */
	BlockNumber nalloc;			/* number of pages allocated */
	BlockNumber maxpages;		/* room in pages[] */
	uint16		generation;		/* counts the transactions, never 0 */

	ZLocalFile *files;			/* files that the records are about */
	int			nfiles;
	int			maxfiles;

	/* top xid of the transaction that wrote this undo; invalid: there is none */
	FullTransactionId fxid;
	SubTransactionId last_sub;	/* subtransaction that wrote last */
	bool		sub_aborted;	/* true: some records' subtransactions have aborted */

	bool		aborted;		/* true: the transaction aborted */

	TransactionId *committed;	/* subtransactions that committed with it, in order; NULL: none,
								 * or not remembered */
	int			ncommitted;

	bool		orphaned;		/* true: when this transaction commits no table uses the files
								 * any more */

	BlockNumber applied;		/* if pending: number of pages whose records are rolled back */

	bool		old_files;		/* true: some records are about files that an abort does not
								 * remove */

	FullTransactionId last;		/* top xid of the last such transaction that committed */
} my = {
	.generation = 1
};

void		(*zundo_local_hook) (void) = NULL;

bool		zundo_local_pending = false;
bool		zundo_local_rolling_back = false;

/* ---- pages ---- */

bool
zundo_ptr_is_local(ZUndoPtr ptr)
{
	return zundo_ptr_block(ptr) >= LOCAL_BLOCK;
}

static void
check_limit(void)
{
	if (zheap_temp_undo_max_size <= 0 ||
		(uint64) (my.npages + 1) * (BLCKSZ / 1024) <= (uint64) zheap_temp_undo_max_size)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("undo of temporary tables would exceed \"zheap.temp_undo_max_size\" (%d kB)",
					zheap_temp_undo_max_size),
			 errdetail("It is kept in the session's memory until the transaction ends."),
			 errhint("Change fewer rows of temporary tables in one transaction, raise \"zheap.temp_undo_max_size\", or use the access method heap for temporary tables.")));
}

/* Add a page.  ERROR (configuration_limit_exceeded) at zheap.temp_undo_max_size. */
static void
add_page(void)
{
	check_limit();
	if (my.context == NULL)
		my.context = AllocSetContextCreate(TopMemoryContext, "zheap local undo",
										   ALLOCSET_DEFAULT_SIZES);
	if (my.npages == my.maxpages)
	{
		BlockNumber max = Max(16, my.maxpages * 2);

		if (my.pages == NULL)
			my.pages = MemoryContextAlloc(my.context, max * sizeof(Page));
		else
			my.pages = repalloc_huge(my.pages, max * sizeof(Page));
		my.maxpages = max;
	}
	if (my.npages == my.nalloc)
	{
		my.pages[my.nalloc] = MemoryContextAlloc(my.context, BLCKSZ);
		my.nalloc++;
	}
	Assert(my.npages < my.nalloc && my.nalloc <= my.maxpages);
	zundo_page_init_apply(my.pages[my.npages], LOCAL_BLOCK + my.npages, my.generation);
	my.npages++;
}

/* Delete the context: pages freed one by one would stay in it, of no use to other contexts. */
static void
free_memory(void)
{
	MemoryContextDelete(my.context);
	my.context = NULL;
	my.pages = NULL;
	my.nalloc = my.maxpages = 0;
	my.files = NULL;
	my.maxfiles = 0;
	my.committed = NULL;
}

/* Drop the transaction's undo, and begin a new generation. */
static void
drop_all(void)
{
	if (my.nalloc > PAGES_KEPT)
		free_memory();
	if (my.committed)
		pfree(my.committed);
	my.committed = NULL;
	my.ncommitted = 0;
	my.npages = 0;
	my.nfiles = 0;
	if (++my.generation == 0)
		my.generation = 1;
	my.fxid = InvalidFullTransactionId;
	my.sub_aborted = my.aborted = my.orphaned = my.old_files = false;
	my.applied = 0;
	zundo_local_pending = false;
}

/* ---- writing ---- */

/* Remember the relation's file, to find its table when it is rolled back. */
static void
note_file(Relation rel)
{
	ZLocalFile *file = NULL;

	for (int i = my.nfiles - 1; i >= 0 && file == NULL; i--)
	{
		if (RelFileLocatorEquals(my.files[i].locator, rel->rd_locator))
			file = &my.files[i];
	}
	if (file == NULL && my.nfiles == my.maxfiles)
	{
		int			max = Max(16, my.maxfiles * 2);

		if (my.files == NULL)
			my.files = MemoryContextAlloc(my.context, max * sizeof(ZLocalFile));
		else
			my.files = repalloc_huge(my.files, max * sizeof(ZLocalFile));
		my.maxfiles = max;
	}
	if (file == NULL)
		file = &my.files[my.nfiles++];
	Assert(my.nfiles <= my.maxfiles);
	/* a rewritten table may have got the file of another table that was dropped (R8) */
	file->locator = rel->rd_locator;
	file->relid = RelationGetRelid(rel);
	file->tableam = rel->rd_tableam;
}

void
zundo_local_reserve(Relation rel, Size size, ZUndoWrite *write)
{
	Page		page;

	Assert(!zundo_local_pending && CritSectionCount == 0);
	if (!FullTransactionIdIsValid(my.fxid))
		zundo_refuse_given_up();
	if (my.npages == 0 ||
		zundo_page_end(my.pages[my.npages - 1]) + zundo_framed(size) > ZUNDO_PAGE_END)
		add_page();
	note_file(rel);
	if (rel->rd_createSubid == InvalidSubTransactionId &&
		rel->rd_firstRelfilelocatorSubid == InvalidSubTransactionId)
		my.old_files = true;

	page = my.pages[my.npages - 1];
	write->buffer = InvalidBuffer;
	write->offset = zundo_page_end(page);
	write->generation = my.generation;
	write->init = write->offset == ZUNDO_PAGE_START;
	write->ptr = zundo_ptr_make(LOCAL_BLOCK + my.npages - 1, my.generation, write->offset);
}

void
zundo_local_write(ZUndoWrite *write, const char *bytes, Size len)
{
	Page		page = my.pages[my.npages - 1];

	Assert(write->offset == zundo_page_end(page));	/* U1 */
	Assert(write->generation == my.generation && !zundo_local_pending);
	if (!FullTransactionIdIsValid(my.fxid))
		my.fxid = GetTopFullTransactionIdIfAny();
	Assert(FullTransactionIdEquals(my.fxid, GetTopFullTransactionIdIfAny()));
	my.last_sub = GetCurrentSubTransactionId();
	zundo_page_append_apply(page, LOCAL_BLOCK + my.npages - 1, bytes, len);
}

/* ---- reading ---- */

const char *
zundo_local_read(ZUndoPtr ptr, Size *len)
{
	BlockNumber block = zundo_ptr_block(ptr) - LOCAL_BLOCK;
	uint16		offset = zundo_ptr_offset(ptr);
	const char *bytes;

	if (zundo_ptr_generation(ptr) != my.generation)
		return NULL;
	if (block >= my.npages || offset < ZUNDO_PAGE_START ||
		offset >= zundo_page_end(my.pages[block]) ||
		!zundo_record_bounds(my.pages[block], offset, &bytes, len))
		elog(ERROR, "no local undo record at block %u, offset %u", block, offset);
	return bytes;
}

ZUndoPtr
zundo_local_first(void)
{
	if (my.applied >= my.npages ||
		zundo_page_end(my.pages[my.applied]) == ZUNDO_PAGE_START)
		return ZUNDO_INVALID;
	return zundo_ptr_make(LOCAL_BLOCK + my.applied, my.generation, ZUNDO_PAGE_START);
}

void
zundo_local_mark_applied(ZUndoPtr ptr)
{
	/* within the transaction that wrote them, more of the records may become aborted */
	if (zundo_local_pending)
		my.applied = zundo_ptr_block(ptr) - LOCAL_BLOCK;
}

ZUndoPtr
zundo_local_next(ZUndoPtr ptr, bool *new_page)
{
	BlockNumber block = zundo_ptr_block(ptr) - LOCAL_BLOCK;
	Size		len;
	const char *bytes = zundo_local_read(ptr, &len);
	uint16		end;

	*new_page = false;
	if (bytes == NULL)
		return ZUNDO_INVALID;
	end = (bytes + len) - (char *) my.pages[block];
	if (end < zundo_page_end(my.pages[block]))
		return zundo_ptr_make(LOCAL_BLOCK + block, my.generation, end);
	*new_page = true;
	block++;
	if (block >= my.npages || zundo_page_end(my.pages[block]) == ZUNDO_PAGE_START)
		return ZUNDO_INVALID;
	return zundo_ptr_make(LOCAL_BLOCK + block, my.generation, ZUNDO_PAGE_START);
}

const ZLocalFile *
zundo_local_file(RelFileLocator locator)
{
	for (int i = 0; i < my.nfiles; i++)
	{
		if (RelFileLocatorEquals(my.files[i].locator, locator))
			return &my.files[i];
	}
	elog(ERROR, "local undo is about no table with file %u", locator.relNumber);
	return NULL;				/* keep compiler quiet */
}

/* ---- the horizon ---- */

FullTransactionId
zundo_local_horizon(void)
{
	FullTransactionId top;

	if (zundo_local_rolling_back)
		return my.fxid;
	Assert(!zundo_local_pending);
	top = GetTopFullTransactionIdIfAny();
	return FullTransactionIdIsValid(top) ? top : FullTransactionIdFromU64(PG_UINT64_MAX);
}

bool
zundo_local_sees(Snapshot snapshot)
{
	return !FullTransactionIdIsValid(my.last) ||
		FullTransactionIdPrecedes(my.last, zundo_horizon()) ||
		!XidInMVCCSnapshot(XidFromFullTransactionId(my.last), snapshot);
}

/* ---- what became of the transaction ---- */

FullTransactionId
zundo_local_owner(void)
{
	return my.fxid;
}

/* All xids are of one transaction, so 32 bits distinguish them. */
bool
zundo_local_has_committed(FullTransactionId fxid)
{
	TransactionId xid = XidFromFullTransactionId(fxid);

	if (my.aborted)
		return false;
	return FullTransactionIdEquals(fxid, my.fxid) ||
		(my.ncommitted > 0 &&
		 bsearch(&xid, my.committed, my.ncommitted, sizeof(xid), xidLogicalComparator) != NULL);
}

/*
 * Remember which subtransactions committed.  Called before the commit, which must not run out
 * of memory.
 */
static void
remember_committed(void)
{
	TransactionId *children;
	int			n = xactGetCommittedChildren(&children);

	my.ncommitted = 0;
	if (my.committed)
		pfree(my.committed);
	my.committed = NULL;
	if (n == 0)
		return;
	my.committed = MemoryContextAllocHuge(my.context, n * sizeof(TransactionId));
	memcpy(my.committed, children, n * sizeof(TransactionId));
	my.ncommitted = n;
}

/* ---- the end of the transaction ---- */

/*
 * Roll back what an earlier transaction has left.  After an error the rest stays pending, and
 * the next caller that opens a temporary table goes on.
 */
static void
roll_back_earlier(void)
{
	if (zundo_local_rolling_back)
		return;					/* called by the hook */
	zundo_local_rolling_back = true;
	zundo_local_hook();
	zundo_local_rolling_back = false;
	drop_all();
}

void
zundo_open_for(Relation rel)
{
	zundo_open();
	zheap_target_check(rel);
	if (unlikely(zundo_local_pending) && RelationUsesLocalBuffers(rel))
		roll_back_earlier();
}

void
zundo_attach_for(Relation rel)
{
	zheap_target_check(rel);
	/* a leader must be noted before its workers, which rely on that (undo_use.c) */
	if (unlikely(MyUndo.db == NULL || RelationUsesLocalBuffers(rel) || IsInParallelMode() ||
				 pg_atomic_read_u64(&MyUndo.db->horizon) == 0))
		zundo_open_for(rel);
}

/* Return whether its table still uses the file. */
static bool
file_is_used(const ZLocalFile *file)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(file->relid));
	bool		used;

	if (!HeapTupleIsValid(tuple))
		return false;
	used = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode == file->locator.relNumber;
	ReleaseSysCache(tuple);
	return used;
}

/* Return whether no table uses any of the files: then the undo will not be read. */
static bool
files_are_gone(void)
{
	for (int i = my.nfiles - 1; i >= 0; i--)
	{
		if (file_is_used(&my.files[i]))
			return false;
	}
	return true;
}

/*
 * Roll back what subtransactions have left if it is little, in pages that are kept anyway.  A
 * commit should not take long: no timeout ends it, and to cancel it loses the transaction.
 */
void
zundo_local_before_commit(void)
{
	if (!zundo_local_pending && !my.sub_aborted)
		return;
	my.orphaned = files_are_gone();
	if (zundo_local_pending || my.orphaned)
		return;
	if (my.npages > PAGES_KEPT)
	{
		remember_committed();
		return;
	}
	zundo_local_hook();
	my.sub_aborted = false;
}

/*
 * Changes of aborted subtransactions that were not rolled back before the commit are left for a
 * later transaction, as if the whole transaction had aborted.  An aborted transaction's own
 * files are removed.
 */
void
zundo_local_at_end(bool aborted)
{
	bool		orphaned = my.orphaned && !aborted;

	zundo_local_rolling_back = false;
	my.orphaned = false;
	if (!aborted && !zundo_local_pending && FullTransactionIdIsValid(my.fxid))
		my.last = my.fxid;
	if (!zundo_local_pending && FullTransactionIdIsValid(my.fxid) && !orphaned &&
		(aborted ? my.old_files : my.sub_aborted))
	{
		my.aborted = aborted;
		zundo_local_pending = true;
	}
	if ((orphaned || !zundo_local_pending) && my.npages > 0)
		drop_all();
}

void
zundo_local_at_subabort(void)
{
	zundo_local_rolling_back = false;
	if (!zundo_local_pending && FullTransactionIdIsValid(my.fxid) &&
		my.last_sub >= GetCurrentSubTransactionId())
		my.sub_aborted = true;
}
