/*
 * index_stale.c
 *		Which entries of rows with several keys are stale, and the conflict of an entry's deletion:
 *		the transaction by which it has lost the last version that needed it.
 *
 * An entry that a scan has marked as dead is deleted whatever the server's horizon is by then.  It
 * may have gone back: a snapshot that is taken beside an old transaction in another database has
 * that one's xid as its xmin.  So the horizon does not tell why the entry was marked.  In an index
 * on plain columns the versions' bytes tell which transaction took the key away.  In others it is
 * the newest one that may have let a scan mark the entry (zheap_newest_killer).
 *
 * LOCKING: the index page is locked exclusively, the row's page in share mode; undo is read (L1).
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"

#include "index_delete.h"

/* ---- conflicts on standbys ---- */

static void
note_conflict(ZIndexDelete *del, FullTransactionId fxid)
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
note_visible(ZIndexDelete *del, FullTransactionId fxid)
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
note_replaced(ZIndexDelete *del, const ZRowVersion *oldest)
{
	if ((oldest->hdr.flags & ZROW_INSERTED) == 0)
		note_visible(del, zmodifier_is_exact(&oldest->modifier) ?
					 zmodifier_fxid(&oldest->modifier) : InvalidFullTransactionId);
}

static bool
has_several_keys(const ZIndexDelete *del, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(del->view.page, offnum);

	return zpage_leads_to_row(lp) &&
		zrow_has_several_keys((char *) del->view.page + ItemIdGetOffset(lp));
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
leaf_entry(ZIndexDelete *del, const TM_IndexDelete *deltid)
{
	Page		page;

	if (!BufferIsValid(del->leaf))
		del->leaf = ReadBuffer(del->op->irel, del->op->iblknum);
	page = BufferGetPage(del->leaf);
	return (IndexTuple)
		PageGetItem(page, PageGetItemId(page, del->op->status[deltid->id].idxoffnum));
}

static void
key_test_begin(KeyTest *test, const ZIndexDelete *del, IndexTuple entry)
{
	test->table = del->table;
	test->index = del->op->irel;
	test->entry = entry;
	test->highest = 0;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(test->index); i++)
		test->highest = Max(test->highest, test->index->rd_index->indkey.values[i]);
	test->values = palloc(test->highest * sizeof(Datum));
	test->isnull = palloc(test->highest * sizeof(bool));
	test->scratch = palloc(ZROW_SCRATCH_SIZE(test->highest, BLCKSZ));
}

static void
key_test_end(KeyTest *test)
{
	pfree(test->values);
	pfree(test->isnull);
	pfree(test->scratch);
}

/* Look for a version with the entry's key by the bytes of columns; as zmvcc_some_version. */
static bool
some_version_has_key(ZIndexDelete *del, OffsetNumber offnum, IndexTuple entry,
					 ZRowVersion *oldest)
{
	KeyTest		test;
	bool		found;

	key_test_begin(&test, del, entry);
	found = zmvcc_some_version(&del->view, offnum, may_have_key, &test, oldest);
	key_test_end(&test);
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
newest_has_other_key(ZIndexDelete *del, const TM_IndexDelete *deltid, IndexTuple entry,
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
 * An updater that gives the row this key again has changed the row before, or reaches the leaf
 * after us.
 */
bool
zindex_entry_is_stale(ZIndexDelete *del, const TM_IndexDelete *deltid)
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

/* ---- entries that were marked as dead ---- */

/* A look for the newest version that may need an entry which was marked as dead. */
typedef struct MarkTest
{
	ZIndexDelete *del;
	KeyTest    *key;			/* the entry's, if bytes of columns tell keys; else NULL */
	FullTransactionId killer;	/* else: the mark was for the version of this transaction, or of an
								 * older one */
	bool		lost;			/* a newer version does not need the entry */
	bool		found;			/* the search is over, and the next newer version does not */
} MarkTest;

static bool
version_is_uncommitted(ZIndexDelete *del, const ZRowVersion *version)
{
	ZXactStatus status;

	if (!zmodifier_is_exact(&version->modifier))
		return false;
	status = zmvcc_version_status(&del->view, version);
	return status == ZXACT_OWN || status == ZXACT_IN_PROGRESS;
}

/* Return whether the transaction may have let a scan mark the entry. */
static bool
may_be_killer(FullTransactionId fxid, FullTransactionId newest)
{
	ZXactStatus status;

	if (!FullTransactionIdIsValid(fxid) || FullTransactionIdFollows(fxid, newest))
		return false;
	status = zmvcc_xact_status(fxid);
	return status == ZXACT_COMMITTED || status == ZXACT_ALL_VISIBLE;
}

/*
 * Return whether the version may need the entry, so that the search of the MarkTest in "arg" is
 * over.  A version in progress has an entry of its own, or will get one.
 */
static bool
may_need_entry(const ZRowVersion *version, void *arg)
{
	MarkTest   *mark = arg;

	if (mark->key == NULL)
	{
		mark->found = may_be_killer(version->next_fxid, mark->killer);
		return mark->found;
	}
	if (version_is_uncommitted(mark->del, version))
		return false;
	if (!zversion_is_deleted(version) && may_have_key(version, mark->key))
	{
		mark->found = mark->lost;
		return true;
	}
	mark->lost = true;
	return false;
}

/*
 * Note the transaction that took the key of a marked entry away, from a row that is not dead to
 * all: it deleted the row, or gave it another key.  A snapshot that sees it needs the entry for no
 * earlier version either.
 */
static void
note_killer(ZIndexDelete *del, const TM_IndexDelete *deltid)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);
	bool		has_bytes = del->several_keys && !zindex_compares(del->op->irel);
	MarkTest	mark = {.del = del,.killer = zheap_newest_killer()};
	KeyTest		key;
	ZRowVersion version;
	bool		ended;

	if (has_bytes)
	{
		key_test_begin(&key, del, leaf_entry(del, deltid));
		mark.key = &key;
	}
	ended = !zmvcc_some_version(&del->view, offnum, may_need_entry, &mark, &version);
	if (has_bytes)
		key_test_end(&key);
	if (ended)
		note_replaced(del, &version);
	else if (mark.found)
		note_conflict(del, version.next_fxid);
	else
	{
		FullTransactionId bound;

		/*
		 * Finding it would take too long (B1).  A snapshot that sees the slot's owner sees it, and
		 * so does one to which all transactions are old that have let a scan mark an entry.
		 */
		zmvcc_current(&del->view, offnum, &version);
		bound = zmodifier_bound(&version.modifier);
		if (FullTransactionIdFollows(bound, mark.killer))
			bound = mark.killer;
		note_visible(del, bound);
	}
}

/*
 * A standby must not lose the entry while a snapshot there still sees the row.  Dead line pointers
 * need nothing: the record that made them had the conflict.
 */
void
zindex_note_last(ZIndexDelete *del, const TM_IndexDelete *deltid, bool marked)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);
	FullTransactionId fxid = InvalidFullTransactionId;
	ZRowVersion	version;
	ZRowState	state;

	if (!ItemIdIsNormal(PageGetItemId(del->view.page, offnum)))
		return;

	/* no snapshot has seen an insertion that was rolled back */
	state = zmvcc_state(&del->view, offnum, &version, &fxid);
	if (state == ZSTATE_NONE)
		return;
	/* the entry was stale, or the horizon has gone back since the row was dead to all */
	if (state != ZSTATE_DEAD && marked && has_several_keys(del, offnum))
	{
		note_killer(del, deltid);
		return;
	}
	/* finding it would take too long (B1): the slot's owner is later, aborted or not */
	if (state != ZSTATE_DEAD && !FullTransactionIdIsValid(fxid))
		fxid = zmodifier_bound(&version.modifier);
	note_visible(del, fxid);
}
