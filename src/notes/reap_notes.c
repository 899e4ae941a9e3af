/*
 * reap_notes.c
 *		A backend's notes of deleted rows: see reap.h.
 *
 * The notes are few and of fixed size, so noting a row is cheap and cannot fail.  When there is
 * no room, the oldest pages or the newest rows are left to VACUUM.
 *
 * LOCKING: none.  No page is locked when notes are opened for another table (zreap_look).
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/btree/table_indexes.h"
#include "zheap/notes/reap.h"

/* Number of tables that a backend keeps notes of at the same time. */
#define TABLES			8

/* This many pages, or ZREAP_ENOUGH_ROWS rows, are enough for a batch ... */
#define ENOUGH_BLOCKS	16

/*
 * ... if the backend has deleted this many rows in each page on average, or if the table has
 * MANY_DEAD dead rows and one more for every MANY_DEAD_SHARE live rows.
 */
#define ENOUGH_ROWS_A_BLOCK	4
#define MANY_DEAD		50
#define MANY_DEAD_SHARE	10

/*
 * Allocate the lists when this many rows are noted: earlier than ENOUGH_BLOCKS pages can have
 * rows.
 */
#define ENOUGH_FOR_LISTS	ENOUGH_BLOCKS

/*
 * The cost of a session's batches, in visits of table and index pages, is limited by a credit.
 * Each transaction that writes and each row noted adds to it, up to a maximum.
 */
#define LOOKS_A_WRITE	8
#define LOOKS_A_ROW		8
#define MAX_CREDIT		2048

/*
 * Number of the newest ranges that a deleted row is matched with, for deletions that alternate
 * between parts of a table.
 */
#define RANGES_AT_HAND	4

/* Read the table's counters of dead rows in one of this many transactions. */
#define ASKED_INTERVAL	4

/*
 * Give up a table's notes after this many errors: each of them fails a statement that did not
 * cause it.
 */
#define MAX_FAILURES	3

void		(*zreap_hook) (Relation rel, ZReapNotes *notes) = NULL;
ZReapNotes *zreap_current = NULL;

static ZReapNotes *tables[TABLES];
static int	next_table = 0;

/* Drop the notes of rows that were pruned; VACUUM removes them. */
static void
rows_clear(ZReapNotes *notes)
{
	notes->lost += notes->nrows + notes->nwaiting + notes->npointers;
	notes->nrows = notes->nbytes = notes->nwaiting = notes->nswept = notes->npointers = 0;
}

static void
notes_clear(ZReapNotes *notes)
{
	rows_clear(notes);
	notes->nranges = notes->range_blocks = notes->range_rows = notes->npages = 0;
}

/* Allocate the lists if there are none.  Return whether there are lists. */
static bool
has_lists(ZReapNotes *notes)
{
	if (notes->lists == NULL)
		notes->lists = MemoryContextAllocExtended(TopMemoryContext, sizeof(ZReapLists),
												  MCXT_ALLOC_NO_OOM);
	return notes->lists != NULL;
}

static bool
holds_nothing(const ZReapNotes *notes)
{
	return notes->nranges + notes->nrows + notes->nwaiting + notes->npointers == 0;
}

static void
notes_begin(ZReapNotes *notes, Relation rel)
{
	notes_clear(notes);
	notes->table = RelationGetRelid(rel);
	notes->locator = rel->rd_locator;
	notes->lxid = InvalidLocalTransactionId;
	notes->busy = false;
	notes->scattered = notes->removals = 0;
	notes->failures = 0;
	notes->asked = 0;
	notes->noted = notes->credit = 0;
	notes->lost = 0;
}

/*
 * Return notes that can be given to another table, round robin; only notes that hold nothing if
 * "empty".  NULL if there are none, because batches of this transaction use them, or others hold
 * something.
 */
static ZReapNotes *
notes_of_another(bool empty)
{
	for (int i = 0; i < TABLES; i++)
	{
		ZReapNotes *notes;

		next_table = (next_table + 1) % TABLES;
		if (tables[next_table] == NULL)
			tables[next_table] = MemoryContextAllocZero(TopMemoryContext, sizeof(ZReapNotes));
		notes = tables[next_table];
		if ((!notes->busy || notes->lxid != zcompat_my_lxid()) && (!empty || holds_nothing(notes)))
			return notes;
	}
	return NULL;
}

/*
 * Return the table's notes, new ones if it had none or has another file; NULL if there is no
 * place.
 */
static ZReapNotes *
notes_of(Relation rel)
{
	ZReapNotes *notes = NULL;

	for (int i = 0; i < TABLES && notes == NULL; i++)
	{
		if (tables[i] != NULL && tables[i]->table == RelationGetRelid(rel))
			notes = tables[i];
	}
	if (notes != NULL && zreap_is_of(notes, rel))
		return notes;
	if (notes == NULL)
		notes = notes_of_another(true);
	if (notes == NULL)
		notes = notes_of_another(false);
	if (notes != NULL)
		notes_begin(notes, rel);
	return notes;
}

bool
zreap_is_past(Relation rel, FullTransactionId fxid)
{
	return GlobalVisTestIsRemovableFullXid(GlobalVisTestFor(rel), fxid, true);
}

/*
 * Return whether the dead rows of all backends suffice for some on each page.  The limit is
 * below autovacuum's, which by default is a fifth of the rows.
 */
static bool
has_many_dead(Relation rel)
{
	PgStat_EntryRef *ref = pgstat_get_entry_ref(PGSTAT_KIND_RELATION, MyDatabaseId,
												RelationGetRelid(rel), false, NULL);
	const PgStat_StatTabEntry *entry;

	if (ref == NULL)
		return false;
	/* no lock: a hint suffices.  pgstat_fetch_stat_tabentry() would freeze the statistics */
	entry = &((PgStatShared_Relation *) ref->shared_stats)->stats;
	return entry->dead_tuples >= MANY_DEAD + entry->live_tuples / MANY_DEAD_SHARE;
}

bool
zreap_vacuum_comes(Relation rel)
{
	const StdRdOptions *options = (const StdRdOptions *) rel->rd_options;

	return AutoVacuumingActive() && (options == NULL || options->autovacuum.enabled);
}

/*
 * Return whether a batch is worth its cost.  It visits each page twice, which one dead row does
 * not pay for.  Several do: the backend's own, or those of all backends, which are removed with
 * them; but not if their entries are left to VACUUM, which has to visit the pages again.
 */
static bool
is_worth(Relation rel, ZReapNotes *notes)
{
	return (BlockNumber) notes->range_rows / ENOUGH_ROWS_A_BLOCK >= notes->range_blocks ||
		(notes->asked++ % ASKED_INTERVAL == 0 &&
		 !(notes->scattered != 0 && zreap_vacuum_comes(rel)) && has_many_dead(rel));
}

bool
zreap_has_pages(Relation rel, ZReapNotes *notes)
{
	return (notes->range_blocks >= ENOUGH_BLOCKS || notes->range_rows >= ZREAP_ENOUGH_ROWS) &&
		zreap_is_past(rel, notes->ranges[0].newest) && is_worth(rel, notes);
}

/* Return whether the notes have enough work that can be done now. */
static bool
has_enough(Relation rel, ZReapNotes *notes)
{
	if (notes->lists == NULL)
		return false;
	if (notes->npointers >= ZREAP_ENOUGH_ROWS &&
		zreap_is_past(rel, notes->lists->pointers[0].since))
		return true;
	if (!zreap_has_room(notes))
		return false;
	return zreap_has_rows(notes) || notes->nswept > 0 || zreap_has_pages(rel, notes);
}

/*
 * Return whether the credit allows a batch, after adding what this transaction brings.  After a
 * bulk deletion every following transaction would run a batch; this limits the cost that is
 * added to each.
 */
static bool
is_paid(ZReapNotes *notes)
{
	notes->credit = Min(notes->credit + LOOKS_A_WRITE +
						LOOKS_A_ROW * Min(notes->noted, MAX_CREDIT), MAX_CREDIT);
	notes->noted = 0;
	return notes->credit >= 0;
}

/* Run a batch.  An error in it fails the statement and is counted; a cancel is not counted. */
static void
run_batch(Relation rel, ZReapNotes *notes)
{
	Assert(!notes->busy && zreap_is_of(notes, rel));	/* G7 */
	notes->busy = true;
	notes->looks = 0;
	PG_TRY();
	{
		zreap_hook(rel, notes);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_QUERY_CANCELED)
			notes->failures++;
		PG_RE_THROW();
	}
	PG_END_TRY();
	notes->credit -= notes->looks;
	notes->busy = false;
}

/* Return whether this backend may note rows of the table now. */
static bool
is_reapable(Relation rel)
{
	return !RelationUsesLocalBuffers(rel) && !IsInParallelMode() && ztable_indexes(rel)->btrees;
}

/*
 * Set zreap_current for a write to the table.  The first time in each transaction, check whether
 * there is enough for a batch, and run it.
 */
void
zreap_look(Relation rel)
{
	ZReapNotes *notes = zreap_current;
	LocalTransactionId lxid = zcompat_my_lxid();

	Assert(!zheap_holds_buffer_lock());
	if (notes != NULL && notes->lxid == lxid && zreap_is_of(notes, rel))
		return;
	zreap_current = NULL;
	if (!is_reapable(rel))
		return;
	notes = notes_of(rel);
	if (notes == NULL)
		return;
	if (notes->lxid != lxid)
	{
		notes->lxid = lxid;
		if (notes->busy)	/* an error ended the batch at an unknown point */
		{
			notes_clear(notes);
			notes->busy = false;
		}
		if (notes->range_rows >= ENOUGH_FOR_LISTS)
			(void) has_lists(notes);
		if (notes->failures < MAX_FAILURES && is_paid(notes) && has_enough(rel, notes))
			run_batch(rel, notes);
	}
	/* busy: within a batch, a function of an operator class writes to the same table */
	if (notes->failures < MAX_FAILURES && !notes->busy)
		zreap_current = notes;
}

void
zreap_forget_ranges(ZReapNotes *notes, int n)
{
	Assert(n > 0 && n <= notes->nranges);
	for (int i = 0; i < n; i++)
	{
		const ZReapRange *range = &notes->ranges[i];

		notes->range_rows -= range->rows;
		notes->range_blocks -= range->last + 1 - range->first;
	}
	notes->nranges -= n;
	Assert((notes->nranges == 0) == (notes->range_blocks == 0));
	memmove(notes->ranges, notes->ranges + n, notes->nranges * sizeof(ZReapRange));
}

/*
 * Return whether a deletion belongs to the range.  Do not extend a range that already fills a
 * batch: its newest deleter would keep moving, and a lagging horizon would never pass it.
 */
static bool
is_in_range(const ZReapRange *range, BlockNumber block, FullTransactionId fxid)
{
	if (block < range->first || block > range->last + 1)
		return false;
	return FullTransactionIdEquals(range->newest, fxid) ||
		(range->rows < ZREAP_ENOUGH_ROWS && range->last - range->first < ENOUGH_BLOCKS);
}

/*
 * Count the row in one of the newest ranges, or begin a range; an eighth of the ranges, the
 * oldest, makes room when all are used.
 */
void
zreap_note_deleted(BlockNumber block, FullTransactionId fxid)
{
	ZReapNotes *notes = zreap_current;

	notes->noted++;
	notes->range_rows++;
	for (int i = notes->nranges - 1; i >= Max(notes->nranges - RANGES_AT_HAND, 0); i--)
	{
		ZReapRange *range = &notes->ranges[i];

		if (!is_in_range(range, block, fxid))
			continue;
		notes->range_blocks += block > range->last;
		range->last = Max(range->last, block);
		range->newest = fxid;
		range->rows++;
		return;
	}
	if (notes->nranges == ZREAP_MAX_RANGES)
		zreap_forget_ranges(notes, ZREAP_MAX_RANGES / 8);
	notes->range_blocks++;
	notes->ranges[notes->nranges++] = (ZReapRange)
	{
		.first = block,.last = block,.newest = fxid,.rows = 1
	};
}

/*
 * Return whether the version has the row's bytes.  False if they are gone, because its body has
 * moved to undo that is discarded.
 */
static bool
has_keys(ZPageView *view, ZRowVersion *version)
{
	return !zrow_is_tombstone(&version->hdr) ||
		(!zview_is_spent(view) && zmvcc_reconstruct_body(view, version));	/* B1 */
}

void
zreap_begin_page(ZReapNotes *notes, Relation rel)
{
	Assert(zreap_is_of(notes, rel));	/* G7 */
	zreap_check_notes(rel, notes);
	notes->ntaken = notes->taken_bytes = notes->taken_lost = 0;
}

/*
 * Store the row behind those noted, provisionally: zreap_end_page() makes it count.  Without
 * room for its bytes, or if they are gone, the row is noted as "anywhere"; without room for the
 * row it is lost.
 */
void
zreap_take_row(ZReapNotes *notes, ZPageView *view, ZRowVersion *version)
{
	bool		several = (version->hdr.flags2 & ZROW2_SEVERAL_KEYS) != 0;
	int			at = notes->nbytes + notes->taken_bytes;
	int			len;
	ZReapRow   *row;

	if (!has_lists(notes) || notes->nrows + notes->ntaken == ZREAP_MAX_ROWS)
	{
		notes->taken_lost++;
		return;
	}
	len = has_keys(view, version) && at + version->len <= ZREAP_MAX_BYTES ? version->len : 0;
	row = &notes->lists->rows[notes->nrows + notes->ntaken++];
	ItemPointerSet(&row->tid, view->block, version->offnum);
	row->len = len;
	row->offset = at;
	row->several = several;
	row->anywhere = len == 0;
	if (len > 0)
		memcpy(notes->lists->bytes + at, version->row, len);
	notes->taken_bytes += len;
	Assert(notes->nrows + notes->ntaken <= ZREAP_MAX_ROWS &&
		   notes->nbytes + notes->taken_bytes <= ZREAP_MAX_BYTES);
}

void
zreap_end_page(ZReapNotes *notes)
{
	if (!notes->busy)			/* rows pruned by a batch were counted when they were deleted */
		notes->noted += notes->ntaken;
	notes->nrows += notes->ntaken;
	notes->nbytes += notes->taken_bytes;
	notes->lost += notes->taken_lost;
}

void
zreap_check_notes(Relation rel, ZReapNotes *notes)
{
	uint64		freed = zheap_pointers_freed(rel);

	if (notes->freed == freed)
		return;
	rows_clear(notes);
	notes->freed = freed;
}

static int
row_compare(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) &((const ZReapRow *) a)->tid,
							  (ItemPointer) &((const ZReapRow *) b)->tid);
}

void
zreap_sort_rows(ZReapRow *rows, int n)
{
	qsort(rows, n, sizeof(ZReapRow), row_compare);
	for (int i = 0; i < n; i++)
		rows[i].removed = 0;
}

void
zreap_note_pointer(ZReapNotes *notes, const ZReapRow *row, FullTransactionId since)
{
	/* G7: in the order of "since" */
	Assert(notes->npointers == 0 ||
		   FullTransactionIdPrecedesOrEquals(notes->lists->pointers[notes->npointers - 1].since,
											 since));
	if (notes->npointers < ZREAP_MAX_POINTERS)
		notes->lists->pointers[notes->npointers++] = (ZReapPointer)
		{
			.since = since,.tid = row->tid
		};
	else
		notes->lost++;
}
