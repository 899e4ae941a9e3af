/*
 * rewrite_page.c
 *		The new file of a table that is rewritten: full pages, one after the other.
 *
 * Pages are made in private memory and written without using buffers, each with a full image in
 * WAL, as heap's rewrite does.  Undo that they point to is written first, with WAL records of
 * its own.
 *
 * LOCKING: none but that of the undo page being written.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/pg_class.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/status.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_write.h"

#include "rewrite_private.h"

static bool
page_is_empty(const ZCopyPage *out)
{
	return PageIsNew(out->page) || PageGetMaxOffsetNumber(out->page) == 0;
}

void
copy_page_open(ZCopyPage *out, Relation rel)
{
	memset(out, 0, sizeof(*out));
	out->rel = rel;
	out->spare = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	out->page = zcompat_palloc_page();
	out->overflow = zcompat_palloc_page();
}

/* ---- rows with a history ---- */

/*
 * Return the slot of all rows whose modifier some snapshot may not see.  Its owner is the
 * rewriter, which is an upper bound (M1): each modifier had committed before the rewriter ends,
 * or is a part of it.  The slot's only record is a directory, so the modifiers need not be in
 * any order, unlike the owners of a chain.
 */
static int
history_slot(const ZCopyPage *out)
{
	return zpage_nslots(out->page) > 0 ? 1 : ZPAGE_FIRST_OVERFLOW;
}

#ifdef USE_ASSERT_CHECKING
/*
 * Assert that the rows have no record yet, and that the modifier has ended or is a part of the
 * rewriter (G4, G5).
 */
static void
assert_may_name(const ZCopyPage *out, OffsetNumber first, int count, const ZOwner *at)
{
	Assert(first >= FirstOffsetNumber && count > 0 && first + count - 1 <= ZPAGE_MAX_OFFSET);
	Assert(!FullTransactionIdIsValid(out->dir.newest[first].fxid));
	Assert(zmvcc_xact_status(at->fxid) != ZXACT_ABORTED &&
		   zmvcc_xact_status(at->fxid) != ZXACT_IN_PROGRESS);
}

/* Assert G4 for a complete page. */
static void
assert_all_named(const ZCopyPage *out)
{
	for (OffsetNumber i = FirstOffsetNumber; i <= PageGetMaxOffsetNumber(out->page); i++)
	{
		uint32		len;
		const char *row = zpage_row(out->page, i, &len, NULL);

		Assert(zrow_slotno(row) == history_slot(out) ? (zrow_flags(row) & ZROW_REUSED) != 0 :
			   zrow_slotno(row) == 0);
		Assert((zrow_slotno(row) == history_slot(out)) ==
			   FullTransactionIdIsValid(out->dir.newest[i].fxid));
	}
}
#else
#define assert_may_name(out, first, count, at) ((void) 0)
#define assert_all_named(out) ((void) 0)
#endif

/* Let the directory name *at as the newest record of "count" rows. */
static void
name_record(ZCopyPage *out, OffsetNumber first, int count, const ZOwner *at)
{
	assert_may_name(out, first, count, at);
	for (int i = 0; i < count; i++)
		out->dir.newest[first + i] = *at;
	zpage_note_reused(out->page, at->fxid);
	out->has_history = true;
}

/* Write the undo record of the current run of insertions, if there is one. */
static void
run_end(ZCopyPage *out)
{
	ZUndoRecord rec = {0};
	ZOwner		at;

	if (out->run_count == 0)
		return;
	Assert(FullTransactionIdIsValid(out->run_fxid));
	rec.type = ZOP_INSERT;
	rec.slotno = history_slot(out);
	rec.takeover = ZTAKE_FREE;
	rec.offnum = out->run_first;
	rec.count = out->run_count;
	rec.cid = out->run_cid;
	at.fxid = out->run_fxid;
	at.undo = zchange_undo_alone(out->rel, out->block, &rec);
	name_record(out, out->run_first, out->run_count, &at);
	out->run_count = 0;
}

/*
 * Write the directory of a complete page, and let the slot name it.  It is the slot's whole
 * chain (C1), and names all rows with a history, whatever the horizon is.
 */
static void
history_end(ZCopyPage *out)
{
	ZUndoRecord rec = {0};
	char		bytes[ZUNDO_MAX_RECORD];
	ZOwner		owner;

	run_end(out);
	if (!out->has_history)
		return;
	rec.type = ZOP_DIRECTORY;
	rec.slotno = history_slot(out);
	rec.takeover = ZTAKE_FREE;
	rec.midlen = zrec_directory_encode(&out->dir, InvalidFullTransactionId, ZUNDO_INVALID, bytes);
	rec.mid = bytes;
	owner.undo = zchange_undo_alone(out->rel, out->block, &rec);
	owner.fxid = GetCurrentFullTransactionId();
	zpage_slot_set(zpage_slot(out->page, out->overflow, history_slot(out)), &owner, 0);
}

static void
history_begin(ZCopyPage *out)
{
	out->has_history = false;
	memset(&out->dir, 0, sizeof(out->dir));
	memset(out->dir.lock, ZDIRECTORY_NO_LOCK, sizeof(out->dir.lock));
}

/* ---- pages ---- */

static void
page_begin(ZCopyPage *out, uint32 len)
{
	Assert(PageIsNew(out->page));
	zpage_init_apply(out->page, zpage_slots_beside(len, zheap_initial_slots));
	history_begin(out);
}

static void
write_page(ZCopyPage *out, Page page)
{
	if (RelationNeedsWAL(out->rel))
	{
		log_newpage(&out->rel->rd_locator, MAIN_FORKNUM, out->block, page, true);
		zundo_note_redo();
	}
	PageSetChecksum(page, out->block);
	smgrextend(RelationGetSmgr(out->rel), MAIN_FORKNUM, out->block, (char *) page, true);
	out->block++;
	memset(page, 0, BLCKSZ);
}

static void
page_end(ZCopyPage *out)
{
	bool		has_overflow;

	if (page_is_empty(out))
		return;
	history_end(out);
	assert_all_named(out);
	zpage_assert_valid(out->page);
	has_overflow = zpage_overflow_block(out->page) != InvalidBlockNumber;
	write_page(out, out->page);
	if (has_overflow)
		write_page(out, out->overflow);
}

/*
 * Pages that bypass the buffers are not known to checkpoints, so a checkpoint that begins after
 * their WAL must find them on disk.  Without WAL, a permanent table is synced at commit; an
 * unlogged one must survive the next shutdown.
 */
void
copy_page_close(ZCopyPage *out)
{
	page_end(out);
	if (RelationNeedsWAL(out->rel) ||
		out->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(out->rel), MAIN_FORKNUM);
	pfree(out->page);
	pfree(out->overflow);
}

static bool
fits(const ZCopyPage *out, uint32 len)
{
	Size		need = len + sizeof(ItemIdData) + (page_is_empty(out) ? 0 : out->spare);

	return need <= zpage_free_total(out->page) &&
		PageGetMaxOffsetNumber(out->page) < ZPAGE_MAX_OFFSET;
}

void
copy_page_find(ZCopyPage *out, uint32 len)
{
	if (PageIsNew(out->page))
		page_begin(out, len);
	if (fits(out, len))
		return;
	page_end(out);
	page_begin(out, len);
	if (!fits(out, len))
		elog(ERROR, "row of %u bytes does not fit an empty page", len);
}

static OffsetNumber
next_offset(const ZCopyPage *out)
{
	return PageGetMaxOffsetNumber(out->page) + 1;
}

void
copy_page_tid(const ZCopyPage *out, ItemPointer tid)
{
	ItemPointerSet(tid, out->block, next_offset(out));
}

ZUndoPtr
copy_page_undo(ZCopyPage *out, ZUndoRecord *rec)
{
	rec->slotno = history_slot(out);
	rec->takeover = ZTAKE_FREE;
	rec->offnum = next_offset(out);
	return zchange_undo_alone(out->rel, out->block, rec);
}

/*
 * Let the header name the page's slot, and not the modifier.  A page without slots gets an
 * overflow page.
 */
static void
header_has_history(ZCopyPage *out, ZRowHeader *hdr)
{
	if (zpage_nslots(out->page) == 0 && zpage_overflow_block(out->page) == InvalidBlockNumber)
	{
		zpage_overflow_init_apply(out->overflow, out->block);
		zpage_overflow_apply(out->page, out->block + 1);
	}
	hdr->slotno = history_slot(out);
	hdr->flags |= ZROW_REUSED;
}

void
copy_page_changed(ZCopyPage *out, const ZOwner *newest, ZRowHeader *hdr)
{
	header_has_history(out, hdr);
	name_record(out, next_offset(out), 1, newest);
}

void
copy_page_inserted(ZCopyPage *out, FullTransactionId fxid, CommandId cid, ZRowHeader *hdr)
{
	OffsetNumber offnum = next_offset(out);

	header_has_history(out, hdr);
	if (out->run_count > 0 && FullTransactionIdEquals(out->run_fxid, fxid) &&
		out->run_cid == cid && out->run_first + out->run_count == offnum)
	{
		out->run_count++;
		return;
	}
	run_end(out);
	out->run_fxid = fxid;
	out->run_first = offnum;
	out->run_count = 1;
	out->run_cid = cid;
}

void
copy_page_add(ZCopyPage *out, const char *row, uint32 len, FullTransactionId deleter)
{
	ZRowPlan	plan = {0};
	ZNewRow		new;

	Assert(zpage_free_total(out->page) >= len + sizeof(ItemIdData));
	new.offnum = next_offset(out);
	new.len = len;
	new.bytes = row;
	plan.op = ZOP_INSERT;
	plan.nrows = 1;
	plan.rows = &new;
	zpage_row_apply(out->page, &plan);

	Assert(FullTransactionIdIsValid(deleter) == ((zrow_flags(row) & ZROW_DELETED) != 0));
	if (FullTransactionIdIsValid(deleter))
		zpage_set_prunable(out->page, zfxid_xid(deleter));
}
