/*
 * mvcc_chain.c
 *		Going down the undo records of one transaction slot about one page.
 *
 * The one place that steps from record to record: readers, writers, rollback, index builds and
 * VACUUM all use the cursor, or zchain_find.
 *
 * A directory is a function of the chain's newest record alone: a record that can be reached
 * never changes, and a transaction never has two at one place of the undo log (U1, U4).  Only
 * the locks in it end with the chain's owner, so they are used while the owner is in progress,
 * and are not taken over (zchain_take_over_directory).  The backend therefore remembers the
 * directories of chains that it goes down a second time, and updates those of its own chains
 * with each change.  After a rollback the chain has another newest record, and its directory is
 * built anew when it is needed.
 *
 * Which rows a run of deletions is about stands only on the page (C3).  While the run is the
 * chain's newest record, rows may be added to it: a directory keeps it apart (run_first), and a
 * search is answered by the version that it looks for.  A run below another record is complete.
 *
 * LOCKING: none of its own; undo pages come after table pages (L1).
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_read.h"

#include "mvcc_own_chain.h"

/* ---- the cursor ---- */

/*
 * Raise an error unless the record may be gone: it was recycled since the view was made, and
 * then the horizon has passed its transaction (U4).
 */
static void
check_recycled(ZPageView *view, OffsetNumber offnum, const ZOwner *at)
{
	if (!FullTransactionIdPrecedes(at->fxid, zview_horizon(view)))
		zheap_corrupt(view->rel, view->block, offnum,
					  "undo record at block %u, offset %u of transaction %u is gone",
					  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo),
					  zfxid_xid(at->fxid));
}

bool
zchain_read(ZPageView *view, OffsetNumber offnum, const ZOwner *at, ZUndoRecord *rec)
{
	Size		len;
	const char *bytes;

	Assert(CritSectionCount == 0);	/* D4 */
	/* a hot row has many versions; no interrupt is served while a page is locked */
	CHECK_FOR_INTERRUPTS();
	if (unlikely(view->limit > 0 && view->reads >= view->limit))
	{
		view->unfinished = true;
		return false;
	}
	zview_count_read(view);		/* B1 */
	bytes = zundo_read(&view->reader, at->undo, &len);
	if (unlikely(bytes == NULL))
	{
		check_recycled(view, offnum, at);
		return false;
	}
	if (unlikely(zrec_undo_decode(bytes, len, at->undo, ZFORM_LOG, rec) == 0))
		zheap_corrupt(view->rel, view->block, offnum,
					  "undo record at block %u, offset %u cannot be read",
					  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo));
	return true;
}

void
zchain_open(ZChainCursor *cursor, ZPageView *view, OffsetNumber offnum, const ZOwner *from)
{
	cursor->view = view;
	cursor->offnum = offnum;
	cursor->next = *from;
	cursor->at.fxid = InvalidFullTransactionId;
	cursor->past_horizon = false;
#ifdef USE_ASSERT_CHECKING
	cursor->count = 0;
#endif
}

#ifdef USE_ASSERT_CHECKING
/* Check C1 for the record just read; cursor->next is already set. */
static void
assert_directory_is_near(ZChainCursor *cursor)
{
	cursor->count = cursor->rec.type == ZOP_DIRECTORY ? 0 : cursor->count + 1;
	Assert(cursor->count <= ZCHAIN_INTERVAL ||
		   !FullTransactionIdIsValid(cursor->next.fxid));
}
#else
#define assert_directory_is_near(cursor) ((void) 0)
#endif

bool
zchain_next(ZChainCursor *cursor)
{
	ZUndoRecord *rec = &cursor->rec;

	if (!FullTransactionIdIsValid(cursor->next.fxid) ||
		!zchain_read(cursor->view, cursor->offnum, &cursor->next, rec))
	{
		cursor->next.fxid = InvalidFullTransactionId;
		return false;
	}
	cursor->at = cursor->next;
	if (rec->takeover == ZTAKE_OWN)
		cursor->next.undo = rec->page_prev;
	else if (rec->takeover == ZTAKE_REUSED &&
			 (cursor->past_horizon || !zview_is_frozen(cursor->view, rec->slot_prev.fxid)))
		cursor->next = rec->slot_prev;
	else
		cursor->next.fxid = InvalidFullTransactionId;
	assert_directory_is_near(cursor);
	return true;
}

/* ---- building a directory ---- */

static inline bool
owner_equals(const ZOwner *a, const ZOwner *b)
{
	return a->undo == b->undo && FullTransactionIdEquals(a->fxid, b->fxid);
}

static void
report_directory(ZPageView *view, const ZOwner *at)
{
	zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
				  "directory at undo block %u, offset %u cannot be read",
				  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo));
}

static void
directory_clear(ZDirectory *dir)
{
	dir->before.fxid = InvalidFullTransactionId;
	dir->before.undo = ZUNDO_INVALID;
	memset(dir->newest, 0, sizeof(dir->newest));
	memset(dir->lock, ZDIRECTORY_NO_LOCK, sizeof(dir->lock));
}

static void
directory_add_lock(ZDirectory *dir, OffsetNumber offnum, int mode)
{
	Assert(mode >= ZDIRECTORY_NO_LOCK && mode <= LockTupleExclusive);
	dir->lock[offnum] = Max(dir->lock[offnum], mode);
}

/*
 * Return the last of the rows that a record is about, which begin with its offnum; of a run of
 * deletions only some of them are meant.  InvalidOffsetNumber: the record is about no row.
 */
static OffsetNumber
last_covered(const ZUndoRecord *rec)
{
	if (zrec_is_delete_run(rec))
		return ZPAGE_MAX_OFFSET;
	if (rec->type == ZOP_INSERT)
		return rec->open_run ? ZPAGE_MAX_OFFSET :
			Min(ZPAGE_MAX_OFFSET, rec->offnum + rec->count - 1);
	if (rec->type == ZOP_DIRECTORY || !zrec_undo_covers(rec, rec->offnum, true))
		return InvalidOffsetNumber;
	return rec->offnum;
}

/* Enter the record unless the row already has one, which is newer. */
static void
directory_add_older(ZDirectory *dir, OffsetNumber offnum, const ZOwner *at)
{
	if (!FullTransactionIdIsValid(dir->newest[offnum].fxid))
		dir->newest[offnum] = *at;
}

/* Enter the rows that the record is about.  A run of deletions must be complete. */
static void
directory_add_covered(ZPageView *view, int slotno, const ZUndoRecord *rec, const ZOwner *at,
					  ZDirectory *dir)
{
	for (int i = Max(rec->offnum, FirstOffsetNumber); i <= last_covered(rec); i++)
	{
		if (!zrec_is_delete_run(rec) || zchain_run_deleted(view, slotno, i))
			directory_add_older(dir, i, at);
	}
}

/*
 * Build the directory of the chain from "from" on, into *dir, which is cleared.  *run_first is
 * the first row of a run of deletions if that is the newest record, else invalid; the run's
 * rows are left out.
 */
static void
directory_build(ZPageView *view, int slotno, const ZOwner *from, ZDirectory *dir,
				OffsetNumber *run_first)
{
	ZChainCursor cursor;
	bool		first_owner = true;
	bool		holds = true;	/* the owner belongs to the newest record's transaction, which
								 * is in progress */
	FullTransactionId owner = InvalidFullTransactionId;
	ZXactStatus status = ZXACT_UNKNOWN;

	*run_first = InvalidOffsetNumber;
	zchain_open(&cursor, view, InvalidOffsetNumber, from);
	/* one directory serves readers and writers, whose horizons differ */
	cursor.past_horizon = true;
	while (zchain_next(&cursor))
	{
		const ZUndoRecord *rec = &cursor.rec;

		if (holds && !FullTransactionIdEquals(owner, cursor.at.fxid))
		{
			ZXactStatus before PG_USED_FOR_ASSERTS_ONLY = status;

			owner = cursor.at.fxid;
			status = zmvcc_xact_status(owner);
			/* C2: records that are rolled back are above those of a transaction that goes on */
			Assert(before != ZXACT_OWN || status != ZXACT_ABORTED);
			holds = zchain_holds_locks(status);
		}
		if (holds && rec->type == ZOP_LOCK)
			directory_add_lock(dir, rec->offnum, rec->lockmode);
		if (rec->type == ZOP_DIRECTORY)
		{
			ZDirectory	older;

			if (!zrec_directory_decode(rec, &older))
				report_directory(view, &cursor.at);
			for (int i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
			{
				if (FullTransactionIdIsValid(older.newest[i].fxid))
					directory_add_older(dir, i, &older.newest[i]);
				if (holds)
					directory_add_lock(dir, i, older.lock[i]);
			}
			if (first_owner)
				dir->before = older.before;
			break;
		}
		if (zrec_is_delete_run(rec) && owner_equals(&cursor.at, from))
			*run_first = rec->offnum;	/* some page copies show more of its rows than others */
		else
			directory_add_covered(view, slotno, rec, &cursor.at, dir);
		if (rec->takeover != ZTAKE_OWN && first_owner)
		{
			first_owner = false;
			if (rec->takeover == ZTAKE_REUSED)
				dir->before = rec->slot_prev;
		}
	}
}

/* ---- the backend's own ---- */

/* a chain has one of CACHE_WAYS entries of its set; the oldest makes room */
#define CACHE_SETS	1024		/* a power of two */
#define CACHE_WAYS	4

/* number of records read down a chain from which on its directory is remembered the next time */
#define LONG_WAY	8

/* upper limit for all directories of the backend together */
#define MAX_MEMORY	((Size) 8 * 1024 * 1024)

typedef struct CachedDirectory
{
	ZDirectory	dir;
	/* commands of the rows' newest records; InvalidCommandId until they have been read */
	CommandId	cids[ZPAGE_MAX_OFFSET + 1];
	/* first row if the newest record is a run of deletions, which may go on; or invalid */
	OffsetNumber run_first;
} CachedDirectory;

typedef struct CacheEntry
{
	uint64		epoch;			/* the entry is empty unless this is cache.epoch */
	RelFileLocator locator;
	BlockNumber block;
	int			slotno;
	ZOwner		newest;			/* the chain's newest record */
	CachedDirectory *cached;	/* NULL: the chain was gone down once, no directory yet */
} CacheEntry;

/*
 * Entries are valid for one transaction: pages of the undo log are reused, but nothing that a
 * transaction can reach is recycled while it lasts.
 */
static struct
{
	MemoryContext context;		/* NULL: none in this transaction so far */
	MemoryContextCallback callback;
	uint64		epoch;
	CacheEntry	entries[CACHE_SETS][CACHE_WAYS];
	uint8		next[CACHE_SETS];	/* way to be replaced next, per set */
}			cache = {.epoch = 1};

/* Forget all directories: the transaction ends, or memory is to be freed. */
static void
cache_reset(void *arg)
{
	cache.context = NULL;
	cache.epoch++;
}

static void
entry_drop_directory(CacheEntry *entry)
{
	if (entry->epoch == cache.epoch && entry->cached)
		pfree(entry->cached);
	entry->cached = NULL;
}

static CachedDirectory *
directory_alloc(void)
{
	if (cache.context && MemoryContextMemAllocated(cache.context, false) > MAX_MEMORY)
		MemoryContextDelete(cache.context);
	if (cache.context == NULL)
	{
		cache.context = AllocSetContextCreate(TopTransactionContext, "zheap directories",
											  ALLOCSET_DEFAULT_SIZES);
		cache.callback.func = cache_reset;
		MemoryContextRegisterResetCallback(cache.context, &cache.callback);
	}
	return MemoryContextAlloc(cache.context, sizeof(CachedDirectory));
}

static uint32
cache_set(RelFileLocator locator, BlockNumber block, int slotno)
{
	return hash_combine(murmurhash32(locator.relNumber),
						murmurhash32(block * 32 + slotno)) & (CACHE_SETS - 1);
}

/* Return the entry of the chain with this newest record, or NULL. */
static CacheEntry *
cache_find(RelFileLocator locator, BlockNumber block, int slotno, const ZOwner *newest)
{
	CacheEntry *entry = cache.entries[cache_set(locator, block, slotno)];

	for (int i = 0; i < CACHE_WAYS; i++, entry++)
	{
		if (entry->epoch == cache.epoch && entry->block == block &&
			entry->slotno == slotno && owner_equals(&entry->newest, newest) &&
			RelFileLocatorEquals(entry->locator, locator))
			return entry;
	}
	return NULL;
}

static CacheEntry *
known_entry(ZPageView *view, int slotno, const ZOwner *newest)
{
	return cache_find(view->rel->rd_locator, view->block, slotno, newest);
}

/*
 * Return the entry of the chain with this newest record; make one if there is none.  A chain
 * may have several: a scan goes on with an older copy of a page that its transaction changes
 * meanwhile.
 */
static CacheEntry *
make_entry(ZPageView *view, int slotno, const ZOwner *newest)
{
	RelFileLocator locator = view->rel->rd_locator;
	CacheEntry *entry = cache_find(locator, view->block, slotno, newest);
	uint32		set;

	if (entry)
		return entry;
	set = cache_set(locator, view->block, slotno);
	entry = &cache.entries[set][cache.next[set]];
	cache.next[set] = (cache.next[set] + 1) % CACHE_WAYS;
	entry_drop_directory(entry);
	entry->epoch = cache.epoch;
	entry->locator = locator;
	entry->block = view->block;
	entry->slotno = slotno;
	entry->newest = *newest;
	return entry;
}

#ifdef USE_ASSERT_CHECKING
static void
assert_own_directory(ZPageView *view, const CacheEntry *entry, const CachedDirectory *cached)
{
	const ZDirectory *dir = &cached->dir;
	ZDirectory *read = palloc(sizeof(ZDirectory));
	OffsetNumber run_first;

	directory_clear(read);
	directory_build(view, entry->slotno, &entry->newest, read, &run_first);
	Assert(view->unfinished || run_first == cached->run_first);
	Assert(view->unfinished || !FullTransactionIdIsValid(read->before.fxid));
	Assert(view->unfinished || memcmp(read->newest, dir->newest, sizeof(dir->newest)) == 0);
	Assert(view->unfinished || memcmp(read->lock, dir->lock, sizeof(dir->lock)) == 0);
	pfree(read);
}
#else
#define assert_own_directory(view, entry, cached) ((void) 0)
#endif

/*
 * Return the entry's directory; build it first if there is none.  NULL if the view's limit was
 * reached.  Reads undo pages, each locked shared, unless it is a chain of the backend's own.
 */
static CachedDirectory *
entry_build(ZPageView *view, CacheEntry *entry)
{
	CachedDirectory *cached;

	if (entry->cached)
		return entry->cached;
	cached = directory_alloc();
	directory_clear(&cached->dir);
	if (own_chain_directory(view, entry->slotno, &entry->newest, &cached->dir,
							&cached->run_first))
		assert_own_directory(view, entry, cached);
	else
		directory_build(view, entry->slotno, &entry->newest, &cached->dir, &cached->run_first);
	if (view->unfinished)
	{
		pfree(cached);
		return NULL;
	}
	memset(cached->cids, 0xFF, sizeof(cached->cids));	/* InvalidCommandId */
	/* directory_alloc may have emptied the entry */
	entry->epoch = cache.epoch;
	entry->cached = cached;
	return cached;
}

/*
 * Enter the rows that the run of deletions from row "first" on has deleted.  The run is
 * complete, and no other record is about their deletion (C3).  Does nothing if "first" is
 * invalid.
 */
static void
directory_add_run(ZPageView *view, int slotno, OffsetNumber first, const ZOwner *run,
				  ZDirectory *dir)
{
	if (first == InvalidOffsetNumber)
		return;
	for (int i = first; i <= ZPAGE_MAX_OFFSET; i++)
	{
		if (zchain_run_deleted(view, slotno, i))
			dir->newest[i] = *run;
	}
}

const ZDirectory *
zchain_directory(ZPageView *view, int slotno)
{
	ZOwner		newest = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));

	Assert(view->limit == 0);	/* the directory has to name all rows */
	return &entry_build(view, make_entry(view, slotno, &newest))->dir;
}

void
zchain_whole_directory(ZPageView *view, int slotno, ZDirectory *dir)
{
	ZOwner		newest = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));
	const CachedDirectory *cached = entry_build(view, make_entry(view, slotno, &newest));

	Assert(view->locked && view->limit == 0);
	*dir = cached->dir;
	directory_add_run(view, slotno, cached->run_first, &newest, dir);
}

void
zchain_take_over_directory(ZDirectory *dir, const ZOwner *before)
{
	dir->before = *before;
	if (zmvcc_xact_status(before->fxid) != ZXACT_OWN)
		memset(dir->lock, ZDIRECTORY_NO_LOCK, sizeof(dir->lock));
}

/*
 * Return the directory if there is one, or if the chain has an entry, because the backend has
 * gone down a long way from this newest record before; else NULL.
 */
static CachedDirectory *
known_directory(ZPageView *view, int slotno, const ZOwner *newest)
{
	CacheEntry *entry = known_entry(view, slotno, newest);

	return entry ? entry_build(view, entry) : NULL;
}

/*
 * Get the owner of slot "slotno", and its newest record.  Return false if it is not known.  The
 * number may come from an undo record, and be damaged.
 */
static bool
slot_newest(ZPageView *view, int slotno, ZOwner *newest)
{
	if (slotno == 0 || view->page == NULL ||
		(slotno >= ZPAGE_FIRST_OVERFLOW ? view->overflow == NULL :
		 slotno > zpage_nslots(view->page)))
		return false;
	*newest = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));
	return true;
}

/* Update a directory: "rec", at "at", has been added after the record "before". */
static void
directory_add_newer(ZPageView *view, CachedDirectory *cached, const ZOwner *before,
					const ZUndoRecord *rec, const ZOwner *at)
{
	ZDirectory *dir = &cached->dir;
	OffsetNumber last = zrec_is_delete_run(rec) ? rec->offnum : last_covered(rec);

	/* the chain was extended, not begun */
	Assert(rec->takeover == ZTAKE_OWN || rec->takeover == ZTAKE_REUSED);
	if (rec->takeover == ZTAKE_REUSED)
		zchain_take_over_directory(dir, &rec->slot_prev);
	if (rec->type == ZOP_LOCK)
		directory_add_lock(dir, rec->offnum, rec->lockmode);
	directory_add_run(view, rec->slotno, cached->run_first, before, dir);
	/* the commands of the run's rows are not known */
	if (cached->run_first != InvalidOffsetNumber)
		memset(cached->cids, 0xFF, sizeof(cached->cids));	/* InvalidCommandId */
	cached->run_first = zrec_is_delete_run(rec) ? rec->offnum : InvalidOffsetNumber;
	for (int i = Max(rec->offnum, FirstOffsetNumber); i <= last; i++)
	{
		dir->newest[i] = *at;
		cached->cids[i] = rec->cid;
	}
}

/*
 * The command of the last search, or of the last record that the backend has made: a search
 * from "from" for such a version of a row at "first" .. "last" finds a record of this command.
 * A load asks for the command of each of its rows, and one record covers all those of a page; a
 * transaction often looks at the row that it has just changed.  As a record never changes, and
 * a transaction never has two at one place of the undo log (U1, U4), this stays right.
 */
static struct
{
	ZOwner		from;
	OffsetNumber first;
	OffsetNumber last;
	bool		deleted;		/* true if the record made deletions */
	CommandId	cid;
}			known_command;

/*
 * Remember the command of a record of our own.  Locks and tombstones make no version, and may
 * be about any version: they are left out.
 */
static void
remember_own_command(const ZOwner *at, const ZUndoRecord *rec, OffsetNumber last)
{
	if (rec->type != ZOP_INSERT && rec->type != ZOP_UPDATE && rec->type != ZOP_DELETE)
		return;
	known_command.from = *at;
	known_command.first = rec->offnum;
	known_command.last = last;
	known_command.deleted = rec->type == ZOP_DELETE;
	known_command.cid = rec->cid;
}

void
zchain_added(ZPageView *view, FullTransactionId fxid, const ZUndoRecord *rec, ZUndoPtr ptr)
{
	ZOwner		at = {fxid, ptr};
	ZOwner		before = rec->slot_prev;
	OffsetNumber last = last_covered(rec);
	CacheEntry *entry;

	Assert(TransactionIdIsCurrentTransactionId(zfxid_xid(fxid)) && ptr != ZUNDO_INVALID);
	Assert(rec->slotno >= 1 && rec->slotno <= ZPAGE_MAX_LOCK_SLOTNO);
	remember_own_command(&at, rec, last);
	own_chain_added(&at, rec, Max(rec->offnum, FirstOffsetNumber), last);
	if (rec->takeover == ZTAKE_OWN)
	{
		before.fxid = fxid;
		before.undo = rec->page_prev;
	}
	else if (rec->takeover != ZTAKE_REUSED)
		return;					/* a chain of one record needs no entry */
	entry = cache_find(rec->locator, rec->block, rec->slotno, &before);
	if (entry == NULL)
		return;
	if (entry->cached)
		directory_add_newer(view, entry->cached, &before, rec, &at);
	entry->newest = at;
}

/* ---- looking for a row ---- */

/* Return what the directory says about the row, in *at; *rec is read if rec is not NULL. */
static ZChainFound
found_in(ZPageView *view, ZSought sought, const ZOwner *named, ZOwner *at, ZUndoRecord *rec)
{
	if (zview_is_frozen(view, named->fxid))
		return ZCHAIN_GONE;
	*at = *named;
	if (rec == NULL)
		return ZCHAIN_FOUND;
	if (!zchain_read(view, sought.offnum, at, rec))
		return ZCHAIN_GONE;
	if (!zrec_undo_covers(rec, sought.offnum, sought.deleted))
		zheap_corrupt(view->rel, view->block, sought.offnum,
					  "undo record at block %u, offset %u is not about the row",
					  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo));
	return ZCHAIN_FOUND;
}

/* Return whether the chain's newest record is a run of deletions that made the version. */
static inline bool
is_of_run(const CachedDirectory *cached, ZSought sought)
{
	return sought.deleted && cached->run_first != InvalidOffsetNumber &&
		sought.offnum >= cached->run_first;
}

ZChainFound
zchain_find(ZPageView *view, int slotno, const ZOwner *from, ZSought sought,
			Snapshot snapshot, ZOwner *at, ZUndoRecord *rec)	/* tidy: where, and what is found */
{
	OffsetNumber offnum = sought.offnum;
	FullTransactionId owner = from->fxid;
	ZChainCursor cursor;
	ZOwner		newest;
	bool		whole;
	int			n = 0;

	Assert(offnum >= FirstOffsetNumber && offnum <= ZPAGE_MAX_OFFSET);
	whole = slot_newest(view, slotno, &newest) && owner_equals(&newest, from);
	if (whole)
	{
		CachedDirectory *cached = known_directory(view, slotno, from);

		if (cached)
			return found_in(view, sought, is_of_run(cached, sought) ? from :
							&cached->dir.newest[offnum], at, rec);
	}
	zchain_open(&cursor, view, offnum, from);
	while (zchain_next(&cursor))
	{
		if (whole && ++n == LONG_WAY)
			(void) make_entry(view, slotno, from);
		if (zrec_undo_covers(&cursor.rec, offnum, sought.deleted))
		{
			*at = cursor.at;
			if (rec)
				*rec = cursor.rec;
			return ZCHAIN_FOUND;
		}
		if (cursor.rec.type == ZOP_DIRECTORY)
		{
			ZOwner		named;
			bool		damaged;

			/* a look into a directory costs as much as several records */
			if (whole)
				(void) make_entry(view, slotno, from);
			if (zrec_directory_find(&cursor.rec, offnum, &named, &damaged))
				return found_in(view, sought, &named, at, rec);
			if (damaged)
				report_directory(view, &cursor.at);
			return ZCHAIN_GONE;
		}
		if (!FullTransactionIdIsValid(cursor.next.fxid))
			break;
		if (snapshot != NULL && !FullTransactionIdEquals(cursor.next.fxid, owner))
		{
			owner = cursor.next.fxid;
			if (zmvcc_fxid_in_snapshot(owner, snapshot))
				return ZCHAIN_VISIBLE;
		}
	}
	return ZCHAIN_GONE;
}

/* Remember the command of the record at "at", found by a search from "from". */
static void
remember_command(const ZOwner *from, OffsetNumber offnum, const ZOwner *at,
				 const ZUndoRecord *rec)
{
	bool		at_once = owner_equals(from, at);

	known_command.from = *from;
	/* the records above it, which were skipped, may be about the other rows */
	known_command.first = at_once ? rec->offnum : offnum;
	known_command.last = at_once ? last_covered(rec) : offnum;
	known_command.deleted = rec->type == ZOP_DELETE;
	known_command.cid = rec->cid;
	Assert(offnum >= known_command.first && offnum <= known_command.last);
}

bool
zchain_command(ZPageView *view, int slotno, const ZOwner *from, ZSought sought, CommandId *cid)
{
	OffsetNumber offnum = sought.offnum;
	CachedDirectory *cached = NULL;
	ZUndoRecord rec;
	ZOwner		newest;
	ZOwner		at;

	if (owner_equals(&known_command.from, from) &&
		offnum >= known_command.first && offnum <= known_command.last &&
		sought.deleted == known_command.deleted)
	{
		*cid = known_command.cid;
		return true;
	}
	if (slot_newest(view, slotno, &newest))
		cached = known_directory(view, slotno, &newest);
	if (cached && (is_of_run(cached, sought) ||
				   (!owner_equals(&newest, from) &&
					!owner_equals(&cached->dir.newest[offnum], from))))
		cached = NULL;
	if (cached && cached->cids[offnum] != InvalidCommandId)
	{
		*cid = cached->cids[offnum];
		return true;
	}
	if (zchain_find(view, slotno, from, sought, NULL, &at, &rec) != ZCHAIN_FOUND)
		return false;
	*cid = rec.cid;
	if (cached && owner_equals(&cached->dir.newest[offnum], &at))
		cached->cids[offnum] = rec.cid;
	remember_command(from, offnum, &at, &rec);
	return true;
}
