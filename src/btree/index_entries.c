/*
 * index_entries.c
 *		The entry that an index scan is at: the server passes only its TID to the table.
 *
 * index_fetch_tuple gets a TID and no key.  Therefore an index's relation cache entry is made to
 * point to a copy of the server's B-tree routine in which some functions are ours.  The server may
 * rebuild that entry, with its own routine; ztable_indexes() replaces it again before it is used.
 * An entry that is in use keeps ours.
 *
 * A B-tree scan keeps a copy of the index tuples of the leaf that it has read if it has memory for
 * that.  As it was not asked to return tuples, it still drops its pin on the leaf as usual.
 *
 * LOCKING: an index's leaf, share, while entries are marked (mark_entries).
 */
#include "postgres.h"

#include "access/gist_private.h"
#include "access/hash.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat_index.h"
#include "zheap/base/base.h"
#include "zheap/base/catalog.h"
#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/index_skip.h"
#include "zheap/btree/stale_entries.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/undo/undo_relation.h"

/* Bytes; two leaves as in btrescan, the second one for the marked position. */
#define TUPLES_SIZE		(2 * BLCKSZ)

/*
 * Blocks kept for the life of the backend: allocating this size for each scan would be the
 * allocator's most expensive case.
 */
#define MAX_KEPT		4

typedef struct Kept
{
	char	   *tuples;
	bool		lent;
} Kept;

static Kept kept[MAX_KEPT];

static IndexAmRoutine watched;	/* for indexes that may have several entries of a row */
static IndexAmRoutine compared;	/* ... whose keys are compared by functions */
static IndexAmRoutine counted;	/* for other B-trees */
static IndexAmRoutine hash_am;	/* for other access methods, whose insertions ask for dead rows */
static IndexAmRoutine gist_am;

/* ---- memory for index tuples ---- */

/* Return a block of TUPLES_SIZE bytes, or NULL if all are in use. */
static char *
lend_tuples(void)
{
	for (int i = 0; i < MAX_KEPT; i++)
	{
		if (kept[i].lent)
			continue;
		if (kept[i].tuples == NULL)
			kept[i].tuples = MemoryContextAlloc(TopMemoryContext, TUPLES_SIZE);
		kept[i].lent = true;
		return kept[i].tuples;
	}
	return NULL;
}

/* Return whether the memory was lent, and take it back if so. */
static bool
take_back(const char *tuples)
{
	for (int i = 0; i < MAX_KEPT; i++)
	{
		if (kept[i].tuples != tuples)
			continue;
		Assert(kept[i].lent);
		kept[i].lent = false;
		return true;
	}
	return false;
}

/* No scan outlives its transaction, and one that ended by an error has returned nothing. */
void
zindex_entries_at_end_of_transaction(void)
{
	for (int i = 0; i < MAX_KEPT; i++)
		kept[i].lent = false;
}

/* ---- the access method's functions ---- */

/*
 * Return the fetch of zheap rows by this scan; NULL if it fetches none, or the table is not ours.
 */
static inline ZIndexFetchBase *
fetch_of(IndexScanDesc scan)
{
	if (likely(scan->xs_heapfetch != NULL && zheap_is_table(scan->heapRelation)))
		return (ZIndexFetchBase *) scan->xs_heapfetch;
	return NULL;
}

/*
 * Mark the entries of dead rows in the scan's leaf, unless that is pinned, or has changed since.
 *
 * The server does that for a pinned leaf.  It finds the entries by their TIDs, and may mark any
 * entry of a TID, which is right.  Without a pin it expects one entry of a TID, in its former
 * place; here a leaf may have several, so the entries are marked by their places.
 */
static void
mark_entries(IndexScanDesc scan)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	BTScanPos	pos = &so->currPos;
	bool		killed[MaxTIDsPerBTreePage] = {false};
	Buffer		buffer;

	if (!BTScanPosIsValid(*pos) || BTScanPosIsPinned(*pos))
		return;
	Assert(!zheap_holds_buffer_lock());
	Assert(so->numKilled <= MaxTIDsPerBTreePage);
	for (int i = 0; i < so->numKilled; i++)
		killed[so->killedItems[i]] = true;
	if (scan->kill_prior_tuple)
		killed[pos->itemIndex] = true;
	so->numKilled = 0;
	scan->kill_prior_tuple = false;
	buffer = ReadBuffer(scan->indexRelation, pos->currPage);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (BufferGetLSNAtomic(buffer) == pos->lsn && BufferBeginSetHintBits(buffer))
		zstale_mark_leaf(pos, killed, buffer);
	UnlockReleaseBuffer(buffer);
}

/* Reset the counts, as the marked page was read some time ago. */
static void
back_to_mark(ZIndexFetchBase *fetch)
{
	zskip_end(fetch);
	fetch->misses = 0;
	fetch->looked = false;
	fetch->clock = fetch->first_clock;
}

static void
restrpos_counted(IndexScanDesc scan)
{
	ZIndexFetchBase *fetch = fetch_of(scan);

	if (fetch != NULL)
		back_to_mark(fetch);
	btrestrpos(scan);
}

/* If the mark is on the leaf that the scan is at, no entry of it has been marked as dead yet. */
static void
restrpos(IndexScanDesc scan)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	ZIndexFetchBase *fetch = fetch_of(scan);

	if (so->markItemIndex < 0 && so->numKilled > 0)
		mark_entries(scan);
	if (so->markItemIndex < 0 && fetch != NULL)
		fetch->marks = fetch->first_marks;
	restrpos_counted(scan);
}

/* The previous run has ended: the fetch was reset. */
static void
rescan_counted(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	ZIndexFetchBase *fetch = fetch_of(scan);

	if (fetch != NULL)
	{
		fetch->scan = scan;
		/* zskip_is_allowed is called later, when there is something to skip */
		fetch->may_skip = zheap_skip_dead_entries;
		fetch->skips = false;
		fetch->clock = fetch->first_clock = zdead_clock();
		fetch->began = false;
		fetch->misses = 0;
		fetch->looked = fetch->asked = false;
	}
	btrescan(scan, keys, nkeys, orderbys, norderbys);
}

/*
 * Wrap btrescan, for an index with several entries of a row: give the scan memory to keep the
 * leaf's index tuples, and remember the count of cleared marks (N5).
 */
static void
rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	ZIndexFetchBase *fetch = fetch_of(scan);

	if (so->numKilled > 0)
		mark_entries(scan);
	if (fetch != NULL)
	{
		fetch->entries = scan;
		fetch->leaf++;
		fetch->marks = fetch->first_marks = zheap_marks_cleared();
		if (so->currTuples == NULL)
		{
			so->currTuples = lend_tuples();
			if (so->currTuples == NULL)
				so->currTuples = MemoryContextAlloc(GetMemoryChunkContext(so), TUPLES_SIZE);
			so->markTuples = so->currTuples + BLCKSZ;
		}
	}
	rescan_counted(scan, keys, nkeys, orderbys, norderbys);
}

/*
 * Count the step of a scan that has met dead entries.  A scan that turns looks for no ranges any
 * more.
 */
static pg_noinline void
count_step(IndexScanDesc scan, ZIndexFetchBase *fetch, bool backward)
{
	bool		turned = fetch->began && fetch->backward != backward;
	bool		wanted;

	if (!fetch->looked || turned)
		fetch->misses = 0;
	fetch->looked = false;
	/* the run of a scan that has turned ends in its former direction */
	if (!turned)
		fetch->backward = backward;
	wanted = zskip_is_wanted(scan, fetch);
	fetch->asked = fetch->asked || fetch->misses > 0;
	if (wanted && fetch->skip == NULL && !zskip_is_allowed(scan))
		fetch->may_skip = fetch->skips = false;
	else if (wanted || fetch->skip != NULL)
		zskip_step(scan, fetch, wanted);
	fetch->began = true;
	fetch->backward = backward;
	if (turned)
		fetch->may_skip = fetch->skips = false;
}

/*
 * Return whether there is nothing to count: the entries before were not dead for good, and the
 * scan begins, or continues in its direction.
 */
static inline bool
steps_on(const ZIndexFetchBase *fetch, bool backward)
{
	return fetch->misses == 0 && fetch->skip == NULL &&
		(!fetch->began || fetch->backward == backward);
}

/* Return whether the next entry is on the leaf that the scan has read. */
static inline bool
stays_on_leaf(const BTScanPosData *pos, bool backward)
{
	int			next = pos->itemIndex + (backward ? -1 : 1);

	return BTScanPosIsValid(*pos) && next >= pos->firstItem && next <= pos->lastItem;
}

/*
 * Read the next leaf, and take the counts before it.  A scan that returns to its mark reads no
 * leaf, which is fine: that one was read before.
 */
static pg_noinline bool
read_leaf(IndexScanDesc scan, ZIndexFetchBase *fetch, ScanDirection direction)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	uint64		marks = zheap_marks_cleared();
	uint64		clock = zdead_clock();

	if (scan->kill_prior_tuple || so->numKilled > 0)
		mark_entries(scan);
	if (fetch != NULL && fetch->stale != NULL)
		zstale_mark(fetch->stale, scan);
	if (!btgettuple(scan, direction))
		return false;
	if (fetch != NULL)
	{
		/*
		 * copies of the table's pages stay valid for longer if all entries of a TID are the same
		 */
		if (fetch->entries != NULL)
			fetch->leaf++;
		fetch->marks = marks;
		fetch->clock = clock;
	}
	return true;
}

/* Go to the next entry.  Count dead entries (count_step), and note when a leaf is read. */
static inline bool
step(IndexScanDesc scan, ZIndexFetchBase *fetch, ScanDirection direction)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	bool		backward = ScanDirectionIsBackward(direction);

	if (fetch != NULL && fetch->skips)
	{
		if (likely(steps_on(fetch, backward)))
		{
			fetch->looked = false;
			fetch->began = true;
			fetch->backward = backward;
		}
		else
			count_step(scan, fetch, backward);
	}
	return likely(stays_on_leaf(&so->currPos, backward)) ? btgettuple(scan, direction) :
		read_leaf(scan, fetch, direction);
}

static bool
gettuple(IndexScanDesc scan, ScanDirection direction)
{
	return step(scan, fetch_of(scan), direction);
}

/*
 * Go to the next entry, where entries of a TID need not be told apart.  It does no harm that a pin
 * is kept for marking.
 */
static bool
gettuple_counted(IndexScanDesc scan, ScanDirection direction)
{
	ZIndexFetchBase *fetch = fetch_of(scan);

	return fetch != NULL && fetch->skips ? step(scan, fetch, direction) :
		btgettuple(scan, direction);
}

/* Take the inserted entry out of all ranges (N6). */
static pg_noinline void
take_from_ranges(Relation index, Datum *values, bool *isnull, ItemPointer tid)
{
	IndexTuple	entry;

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	if (!zdead_has_ranges(index))
	{
		zdead_tidy();
		return;
	}
	entry = index_form_tuple(RelationGetDescr(index), values, isnull);
	entry->t_tid = *tid;
	zdead_inserted(index, entry);
	pfree(entry);
}

/* Wrap btinsert: dead ranges do not contain the new entry afterwards (N6). */
static bool
insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation table,	/* tidy: the server's signature */
	   IndexUniqueCheck check, bool unchanged, struct IndexInfo *info)
{
	bool		result;

	/*
	 * btinsert may look at rows of old entries with its leaf locked, and expressions may have run
	 */
	zundo_open();
	result = btinsert(index, values, isnull, tid, table, check, unchanged, info);
	if (unlikely(zdead_any()))
		take_from_ranges(index, values, isnull, tid);
	return result;
}

/* Wrap hashinsert and gistinsert, for access methods whose scans do not report their entries. */
static bool
insert_opened(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation table,	/* tidy: the server's signature */
			  IndexUniqueCheck check, bool unchanged, struct IndexInfo *info)
{
	aminsert_function insertion = index->rd_rel->relam == HASH_AM_OID ? hashinsert : gistinsert;

	zundo_open();
	return insertion(index, values, isnull, tid, table, check, unchanged, info);
}

/* Wrap btendscan: mark entries, and take back the memory lent. */
static void
endscan(IndexScanDesc scan)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;

	if (so->numKilled > 0)
		mark_entries(scan);
	if (so->currTuples != NULL && take_back(so->currTuples))
		so->currTuples = so->markTuples = NULL;
	btendscan(scan);
}

bool
zindex_is_watched(Relation index)
{
	return index->rd_indam == &watched || index->rd_indam == &compared;
}

bool
zindex_compares(Relation index)
{
	return index->rd_indam == &compared;
}

void
zindex_watch_entries(Relation index, ZIndexChange kind)
{
	IndexAmRoutine *routine = kind == ZINDEX_ADDS ? &watched :
		kind == ZINDEX_COMPARES ? &compared : &counted;

	if (index->rd_indam == routine)
		return;
	if (watched.type != T_IndexAmRoutine)
	{
		Assert(index->rd_rel->relam == BTREE_AM_OID);
		watched = counted = *index->rd_indam;
		watched.amrescan = rescan;
		watched.amgettuple = gettuple;
		watched.amendscan = endscan;
		watched.amrestrpos = restrpos;
		counted.amrescan = rescan_counted;
		counted.amgettuple = gettuple_counted;
		counted.amrestrpos = restrpos_counted;
		watched.aminsert = counted.aminsert = insert;
		compared = watched;
	}
	index->rd_indam = routine;
}

static void
wrap_insertions(Relation index, IndexAmRoutine *routine)
{
	if (index->rd_indam == routine)
		return;
	if (routine->type != T_IndexAmRoutine)
		*routine = *index->rd_indam;
	routine->aminsert = insert_opened;
	index->rd_indam = routine;
}

void
zindex_wrap_insertions(Relation index)
{
	if (index->rd_rel->relam == HASH_AM_OID)
		wrap_insertions(index, &hash_am);
	else if (index->rd_rel->relam == GIST_AM_OID)
		wrap_insertions(index, &gist_am);
}
