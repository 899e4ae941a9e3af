/*
 * index_delete.c
 *		Which entries of an index page may be deleted: their rows are dead to all, or no snapshot
 *		needs a version of the row with the entry's key any more.
 *
 * Called by index access methods before they split a page: about entries already marked as dead
 * (simple deletion: all of them will be deleted, and the conflict xid is needed) or about a page
 * full of candidates (bottom-up deletion: a few table pages are visited, as long as that pays).
 *
 * LOCKING: the caller holds an exclusive lock on an index page, so it has opened undo before (L2).
 * One table page after the other is locked in share mode; its undo is read meanwhile (L1).
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/relscan.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/prefetch.h"
#include "zheap/base/stats.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/index/index.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"

#include "index_delete_choose.h"

/*
 * Bytes freed that are enough where updates in place have left stale entries.  A visit to a page
 * in shared buffers costs some thousand instructions; the server's part of a bottom-up deletion,
 * which sorts the leaf's entries and compares their keys, some hundred thousand, each time.
 */
#define STALE_ENOUGH	(BLCKSZ / 4)

/* Set by zindex_delete_from_leaf for the next call of zindex_delete_tuples. */
static bool whole_leaf = false;

static ZMarkedRow *const *rows_with_keys = NULL;

/* State of one deletion. */
typedef struct IndexDelete
{
	Relation	table;
	TM_IndexDeleteOp *op;
	ZPageView	view;
	Buffer		buffer;			/* current table page, locked in share mode; or invalid */
	Buffer		overflow_buf;
	bool		has_rows;
	BlockNumber block;
	int			freed;			/* bytes of index space, bottom-up only */
	int			freed_before;	/* ... before the current table page */
	int			target;			/* ... that are enough, if the index has no stale entries */
	int			npages;			/* number of table pages visited */
	int64		misses;			/* zprefetch_misses() at the beginning */
	int			nstale;			/* number of deletable entries of live rows */
	TransactionId conflict;		/* newest xid that removed a row, or key, of these entries */
	bool		several_keys;	/* the index may have several entries of a row */
	bool		whole_leaf;		/* visit all entries */
	ZMarkedRow *const *rows;	/* of the entries, by id, if their keys were formed; or NULL */
	Buffer		leaf;			/* the index page, pinned once more; or invalid */
} IndexDelete;

static void
table_page_leave(IndexDelete *del)
{
	if (!BufferIsValid(del->buffer))
		return;
	if (del->has_rows)
		zview_detach(&del->view, &del->overflow_buf);
	UnlockReleaseBuffer(del->buffer);
	del->buffer = InvalidBuffer;
}

/*
 * Lock a table page in share mode, after leaving the previous one.  In a simple deletion pages
 * ascend.
 */
static void
table_page_enter(IndexDelete *del, BlockNumber block)
{
	table_page_leave(del);
	Assert(del->op->bottomup || del->block == InvalidBlockNumber || block > del->block);
	del->block = block;
	del->buffer = ReadBuffer(del->table, block);
	LockBuffer(del->buffer, BUFFER_LOCK_SHARE);
	del->has_rows = zview_attach(&del->view, del->buffer, BUFFER_LOCK_SHARE,
								 &del->overflow_buf);
}

/*
 * Check that the entry names a row or a dead line pointer: pointers are reused only after their
 * index entries are gone (I1).  Anything else is damage, reported as heap does.
 */
static void
check_entry(IndexDelete *del, const TM_IndexDelete *deltid)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);
	OffsetNumber entry = del->op->status[deltid->id].idxoffnum;
	const char *index = RelationGetRelationName(del->op->irel);

	if (!del->has_rows || offnum > PageGetMaxOffsetNumber(del->view.page))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg_internal("tid (%u,%u) from index tuple at offset %u of block %u in index \"%s\" points past the end of the table page's line pointers",
								 del->block, offnum, entry, del->op->iblknum, index)));
	if (!ItemIdIsUsed(PageGetItemId(del->view.page, offnum)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg_internal("tid (%u,%u) from index tuple at offset %u of block %u in index \"%s\" points to an unused line pointer",
								 del->block, offnum, entry, del->op->iblknum, index)));
}

/* ---- conflicts on standbys ---- */

static void
note_conflict(IndexDelete *del, FullTransactionId fxid)
{
	TransactionId xid = zfxid_xid(fxid);

	if (!TransactionIdIsValid(del->conflict) || TransactionIdFollows(xid, del->conflict))
		del->conflict = xid;
}

/*
 * Note a transaction that all snapshots see as committed.  If it is below the horizon and its name
 * is lost, note the newest xid below the horizon.
 */
static void
note_visible(IndexDelete *del, FullTransactionId fxid)
{
	if (!FullTransactionIdIsNormal(fxid))
	{
		fxid = del->view.horizon;
		if (!FullTransactionIdIsNormal(fxid))
			return;
		FullTransactionIdRetreat(&fxid);
	}
	note_conflict(del, fxid);
}

/*
 * Note the transaction that replaced the entry's key.  Versions before "oldest" had it, if any
 * did: if the row was inserted as "oldest", only versions that were rolled back had it.  A
 * snapshot that sees the modifier of the oldest version sees all earlier ones that changed the
 * row.
 */
static void
note_replaced(IndexDelete *del, const ZRowVersion *oldest)
{
	if ((oldest->hdr.flags & ZROW_INSERTED) == 0)
		note_visible(del, zmodifier_is_exact(&oldest->modifier) ?
					 zmodifier_fxid(&oldest->modifier) : InvalidFullTransactionId);
}

static bool
has_several_keys(const IndexDelete *del, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(del->view.page, offnum);

	return zpage_leads_to_row(lp) &&
		zrow_has_several_keys((char *) del->view.page + ItemIdGetOffset(lp));
}

static bool
no_version(const ZRowVersion *version, void *arg)
{
	return false;
}

/*
 * Note the newest transaction that may have replaced the key of an entry which was marked as dead
 * while the row was alive: the newest one that every snapshot sees, or if it would take too long
 * to find (B1) the newest xid that they all see.
 */
static void
note_any_replaced(IndexDelete *del, OffsetNumber offnum)
{
	ZRowVersion oldest;
	TransactionId xid;

	if (!zmvcc_some_version(&del->view, offnum, no_version, NULL, &oldest))
		note_replaced(del, &oldest);
	else
	{
		xid = GetOldestNonRemovableTransactionId(del->table);
		TransactionIdRetreat(xid);
		note_conflict(del, FullTransactionIdFromEpochAndXid(0, xid));
	}
}

/*
 * Note the deleter of a row: a standby must not lose the entry while a snapshot there still sees
 * the row.  Dead line pointers need nothing: the record that made them had the conflict.
 */
static void
note_deleter(IndexDelete *del, OffsetNumber offnum)
{
	FullTransactionId fxid = InvalidFullTransactionId;
	ZRowVersion	version;
	ZRowState	state;

	if (!ItemIdIsNormal(PageGetItemId(del->view.page, offnum)))
		return;

	/* no snapshot has seen an insertion that was rolled back */
	state = zmvcc_state(&del->view, offnum, &version, &fxid);
	if (state == ZSTATE_NONE)
		return;
	/* the entry was stale, unless the horizon has gone back since the row was dead to all */
	if (state != ZSTATE_DEAD && has_several_keys(del, offnum))
	{
		note_any_replaced(del, offnum);
		return;
	}
	/* finding it would take too long (B1): the slot's owner is later, aborted or not */
	if (state != ZSTATE_DEAD && !FullTransactionIdIsValid(fxid))
		fxid = zmodifier_bound(&version.modifier);
	note_visible(del, fxid);
}

/* ---- entries of live rows ---- */

/* An entry's key, to be compared with versions of the row. */
typedef struct KeyTest
{
	Relation	table;
	Relation	index;
	IndexTuple	entry;
	int			highest;		/* highest attribute number in the key */
	Datum	   *values;			/* values of a version */
	bool	   *isnull;
	char	   *scratch;		/* BLCKSZ bytes and more */
} KeyTest;

/*
 * Return whether the value may equal the key.  Values in a toast table are not fetched under the
 * locks: they may be the key.
 */
static bool
may_be_equal(Form_pg_attribute att, Datum value, Datum key)
{
	if (att->attlen == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		return true;
	return datum_image_eq(value, key, att->attbyval, att->attlen);
}

/*
 * Return whether the version may have the key of the KeyTest in "arg".  An expression's value is
 * not known, nor whether the version is under the predicate.
 */
static bool
may_have_key(const ZRowVersion *version, void *arg)
{
	const KeyTest *test = arg;
	TupleDesc	desc = RelationGetDescr(test->index);
	ZRowDeform	state;

	/* its values are in undo */
	if (zrow_is_tombstone(&version->hdr))
		return true;
	memset(&state, 0, sizeof(state));
	state.scratch = test->scratch;
	if (!zrow_deform(RelationGetDescr(test->table), version->row, version->len, test->highest,
					 test->values, test->isnull, &state))
		return true;			/* damage is reported when the row is read */
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(test->index); i++)
	{
		int			attno = test->index->rd_index->indkey.values[i];
		bool		isnull;
		Datum		key = index_getattr(test->entry, i + 1, desc, &isnull);

		if (attno == 0)
			continue;
		if (test->isnull[attno - 1] != isnull ||
			(!isnull && !may_be_equal(TupleDescAttr(desc, i), test->values[attno - 1], key)))
			return false;
	}
	return true;
}

/* Return the entry on the leaf, which the caller has locked; pins it once more. */
static IndexTuple
leaf_entry(IndexDelete *del, const TM_IndexDelete *deltid)
{
	Page		page;

	if (!BufferIsValid(del->leaf))
		del->leaf = ReadBuffer(del->op->irel, del->op->iblknum);
	page = BufferGetPage(del->leaf);
	return (IndexTuple)
		PageGetItem(page, PageGetItemId(page, del->op->status[deltid->id].idxoffnum));
}

/* Look for a version with the entry's key by the bytes of columns; as zmvcc_some_version. */
static bool
some_version_has_key(IndexDelete *del, OffsetNumber offnum, IndexTuple entry, ZRowVersion *oldest)
{
	KeyTest		test = {.table = del->table,.index = del->op->irel,.entry = entry};
	bool		found;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(test.index); i++)
		test.highest = Max(test.highest, test.index->rd_index->indkey.values[i]);
	test.values = palloc(test.highest * sizeof(Datum));
	test.isnull = palloc(test.highest * sizeof(bool));
	test.scratch = palloc(ZROW_SCRATCH_SIZE(test.highest, BLCKSZ));
	found = zmvcc_some_version(&del->view, offnum, may_have_key, &test, oldest);
	pfree(test.values);
	pfree(test.isnull);
	pfree(test.scratch);
	return found;
}

/* Let the newest version not be the one, so that *oldest is it; any other may have the key. */
static bool
is_not_newest(const ZRowVersion *version, void *arg)
{
	int		   *seen = arg;

	return (*seen)++ > 0;
}

/*
 * Return whether the key that was formed of the newest version, which every snapshot sees, is
 * another than the entry's, and the page has not changed since; as some_version_has_key.
 */
static bool
newest_has_other_key(IndexDelete *del, const TM_IndexDelete *deltid, IndexTuple entry,
					 ZRowVersion *oldest)
{
	const ZMarkedRow *row = del->rows == NULL ? NULL : del->rows[deltid->id];
	int			seen = 0;

	if (row == NULL || XLogRecPtrIsInvalid(row->lsn) ||
		PageGetLSN(del->view.page) != row->lsn ||
		!((row->flags & ZMARKED_NO_KEY) ||
		  ((row->flags & ZMARKED_HAS_KEY) && zkey_hash(del->op->irel, entry) != row->key)))
		return false;
	Assert(ItemPointerEquals(&((ZMarkedRow *) row)->tid, (ItemPointer) &deltid->tid));
	return !zmvcc_some_version(&del->view, ItemPointerGetOffsetNumber(&deltid->tid),
							   is_not_newest, &seen, oldest);
}

/*
 * Return whether the entry is stale (N4): its row lives, but no version of it that a snapshot may
 * see has the entry's key.  The page is locked, as is the leaf: an updater that gives the row this
 * key again has changed the row before, or reaches the leaf after us.
 */
static bool
entry_is_stale(IndexDelete *del, const TM_IndexDelete *deltid)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);
	ZRowVersion oldest;
	IndexTuple	entry;

	if (!del->several_keys || !has_several_keys(del, offnum))
		return false;
	entry = leaf_entry(del, deltid);
	if (some_version_has_key(del, offnum, entry, &oldest) &&
		!newest_has_other_key(del, deltid, entry, &oldest))
		return false;
	note_replaced(del, &oldest);
	return true;
}

/* Return whether an entry of the current page may be deleted. */
static bool
entry_is_deletable(IndexDelete *del, const TM_IndexDelete *deltid)
{
	TM_IndexStatus *status = &del->op->status[deltid->id];
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);

	bool		is_dead = true;

	check_entry(del, deltid);

	if (!status->knowndeletable)
	{
		/* rows that are skipped as damaged would be taken for dead */
		if (unlikely(zheap_skip_heap_rows))
			return false;
		is_dead = zmvcc_dead_to_all(&del->view, offnum);
		if (!is_dead && !entry_is_stale(del, deltid))
			return false;
		del->nstale += !is_dead;
		status->knowndeletable = true;
		if (del->op->bottomup)
		{
			Assert(status->freespace > 0);
			del->freed += status->freespace;
		}
	}
	if (is_dead)
		note_deleter(del, offnum);
	return true;
}

/*
 * Return whether a bottom-up deletion stops before the next page: it has freed enough, or the last
 * page gave nothing, which says something about the next one.  Each further page must promise
 * less to be worth a visit.  Stale entries may be anywhere; but the index page is locked, so few
 * pages are read for them.
 */
static bool
is_enough(IndexDelete *del)
{
	bool		enough;

	if (!del->op->bottomup || del->whole_leaf || del->npages == 0)
		return false;
	if (del->several_keys)
		return del->freed >= STALE_ENOUGH ||
			zprefetch_misses() - del->misses >= ZDELETE_BLOCKS;
	enough = del->freed >= del->target || del->freed == del->freed_before;
	del->freed_before = del->freed;
	del->target /= 2;
	return enough;
}

/* Loop over the entries by table page. */
TransactionId
zindex_delete_tuples(Relation table, TM_IndexDeleteOp *delstate)
{
	IndexDelete del = {0};
	int			ndeletable = 0;
	int			i;

	Assert(delstate->ndeltids > 0);

	del.whole_leaf = whole_leaf;
	whole_leaf = false;
	del.rows = rows_with_keys;
	rows_with_keys = NULL;
	del.table = table;
	del.op = delstate;
	del.buffer = InvalidBuffer;
	del.block = InvalidBlockNumber;
	del.leaf = InvalidBuffer;
	del.target = delstate->bottomupfreespace;
	del.misses = zprefetch_misses();
	del.several_keys = zindex_is_watched(delstate->irel);
	zdelete_choose_entries(delstate, del.several_keys, del.whole_leaf);
	zview_open(&del.view, table);

	for (i = 0; i < delstate->ndeltids; i++)
	{
		TM_IndexDelete *deltid = &delstate->deltids[i];
		BlockNumber block = ItemPointerGetBlockNumber(&deltid->tid);

		if (!BufferIsValid(del.buffer) || block != del.block)
		{
			if (is_enough(&del))
				break;
			table_page_enter(&del, block);
			del.npages++;
		}

		if (entry_is_deletable(&del, deltid))
			ndeletable = i + 1;
	}

	table_page_leave(&del);
	if (BufferIsValid(del.leaf))
		ReleaseBuffer(del.leaf);
	zview_close(&del.view);

	/* an updater has counted its update before, VACUUM its pages */
	if (del.nstale > 0)
		zstats_count_known(table, ZTABLE_STALE_REMOVED, del.nstale);
	Assert(ndeletable > 0 || delstate->bottomup);
	Assert(del.npages <= ZDELETE_STALE_BLOCKS || !delstate->bottomup || del.whole_leaf);
	delstate->ndeltids = ndeletable;

	return del.conflict;
}

/* The server's function calls zindex_delete_tuples, removes the entries and logs that. */
void
zindex_delete_from_leaf(Relation table, Buffer leaf, TM_IndexDeleteOp *op,
						struct ZMarkedRow *const *rows)
{
	Assert(op->bottomup && op->iblknum == BufferGetBlockNumber(leaf));
	whole_leaf = true;
	rows_with_keys = rows;
	_bt_delitems_delete_check(op->irel, leaf, table, op);
}
