/*
 * mvcc_known.c
 *		The directories that the backend remembers.
 *
 * The backend remembers the directories of chains that it goes down a second time, and updates
 * those of its own chains with each change.  They stay right, since a chain's newest record
 * determines its directory (mvcc_directory.c); but the locks in them are not taken over by
 * another transaction (zchain_take_over_directory).  After a rollback the chain has another
 * newest record, and its directory is built anew when it is needed.
 *
 * LOCKING: none of its own.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "mvcc_known.h"
#include "mvcc_own_chain.h"

/* a chain has one of CACHE_WAYS entries of its set; the oldest makes room */
#define CACHE_SETS	1024		/* a power of two */
#define CACHE_WAYS	4

/* upper limit for all directories of the backend together */
#define MAX_MEMORY	((Size) 8 * 1024 * 1024)

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
			entry->slotno == slotno && zowner_equals(&entry->newest, newest) &&
			RelFileLocatorEquals(entry->locator, locator))
			return entry;
	}
	return NULL;
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

void
known_note_long_way(ZPageView *view, int slotno, const ZOwner *newest)
{
	(void) make_entry(view, slotno, newest);
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

CachedDirectory *
known_directory(ZPageView *view, int slotno, const ZOwner *newest)
{
	CacheEntry *entry = cache_find(view->rel->rd_locator, view->block, slotno, newest);

	return entry ? entry_build(view, entry) : NULL;
}

/* Update a directory: "rec", at "at", has been added after the record "before". */
static void
directory_add_newer(ZPageView *view, CachedDirectory *cached, const ZOwner *before,
					const ZUndoRecord *rec, const ZOwner *at)
{
	ZDirectory *dir = &cached->dir;
	OffsetNumber last = zrec_is_delete_run(rec) ? rec->offnum : directory_last_covered(rec);

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

void
known_added(ZPageView *view, const ZUndoRecord *rec, const ZOwner *at)
{
	ZOwner		before = rec->slot_prev;
	CacheEntry *entry;

	if (rec->takeover == ZTAKE_OWN)
	{
		before.fxid = at->fxid;
		before.undo = rec->page_prev;
	}
	else if (rec->takeover != ZTAKE_REUSED)
		return;					/* a chain of one record needs no entry */
	entry = cache_find(rec->locator, rec->block, rec->slotno, &before);
	if (entry == NULL)
		return;
	/* only the page tells which rows a run has deleted: build the directory when it is needed */
	if (view->page == NULL && entry->cached &&
		entry->cached->run_first != InvalidOffsetNumber)
		entry_drop_directory(entry);
	if (entry->cached)
		directory_add_newer(view, entry->cached, &before, rec, at);
	entry->newest = *at;
}
