/*
 * undo_local.c
 *		Undo of temporary tables: in this backend's memory.
 *
 * Only this backend ever looks at the pages of its temporary tables, and a
 * transaction of its own that has ended is visible to all snapshots that it
 * takes afterwards.  So their undo is needed until the transaction ends, and
 * beyond that only if rows of an aborted (sub)transaction are still to be rolled
 * back: this is done when a later transaction opens a temporary table.  There is one
 * transaction's undo here at a time.  (A snapshot that another session has taken and
 * this one imports may be older than that, and is refused.)
 *
 * Rolling back can be cancelled; what has been done is remembered undo page by undo
 * page.  No commit waits for more than a little of it.  It may be long after the
 * transaction: the horizon may have passed it, and the commit log have forgotten it.  So
 * what became of it and of its subtransactions is remembered here.
 *
 * Pages look like those of the undo relation; their pointers name blocks from
 * LOCAL_BLOCK on, which the undo relation never reaches.
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

/* Most transactions need no more than these, which are kept for the next one. */
#define PAGES_KEPT		16

static struct
{
	MemoryContext context;		/* of what follows */
	Page	   *pages;
	BlockNumber npages;			/* in use */
	BlockNumber nalloc;			/* allocated */
	BlockNumber maxpages;		/* room in pages[] */
	uint16		generation;		/* counts the transactions, never 0 */

	ZLocalFile *files;			/* that the records are about */
	int			nfiles;
	int			maxfiles;

	/* the transaction that wrote what is here: its top xid; invalid: empty */
	FullTransactionId fxid;
	SubTransactionId last_sub;	/* that wrote last */
	bool		sub_aborted;	/* some records are rolled back */

	bool		aborted;		/* it aborted as a whole */

	TransactionId *committed;	/* subtransactions that committed with it, in order; NULL:
								 * none, or not asked for */
	int			ncommitted;

	bool		orphaned;		/* when this transaction commits all files are gone */

	BlockNumber applied;		/* pending: these pages' records are rolled back */

	bool		old_files;		/* some records are about files that an abort leaves */

	FullTransactionId last;		/* the last one that committed */
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
	zundo_page_init_apply(my.pages[my.npages], LOCAL_BLOCK + my.npages, my.generation);
	my.npages++;
}

/* Pages freed one by one would stay in the context, of no use to anybody else. */
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
	/* a table that was rewritten has got the file of another that has gone (R8) */
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
	if (!FullTransactionIdIsValid(my.fxid))
		my.fxid = GetTopFullTransactionIdIfAny();
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
	/* within the transaction that wrote them, more of the records may be aborted yet */
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

/* All are of one transaction, so that 32 bits tell them apart. */
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

/* Before the commit, which cannot fail for want of memory. */
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
 * Roll back what an earlier transaction has left.  On error the rest stays pending,
 * and the next caller that opens a temporary table goes on.
 */
static void
roll_back_earlier(void)
{
	if (zundo_local_rolling_back)
		return;					/* we come from there */
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
	/* a leader ought to be noted before its workers, which rely on it then (undo_use.c) */
	if (unlikely(MyUndo.db == NULL || RelationUsesLocalBuffers(rel) || IsInParallelMode() ||
				 pg_atomic_read_u64(&MyUndo.db->horizon) == 0))
		zundo_open_for(rel);
}

/* Does its table use the file yet? */
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

/* Then nobody is going to ask for the memory. */
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
 * What subtransactions have left is rolled back if it is little, and the memory kept
 * anyway.  A commit should not take long: no timeout ends it, and to cancel it loses the
 * transaction.
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
 * What subtransactions have left that was not rolled back before the commit is left for
 * a later transaction like a whole one's.  An aborted transaction's own files are gone.
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
