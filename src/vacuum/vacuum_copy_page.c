/*
 * vacuum_copy_page.c
 *		The new file of a table that is rewritten: full pages, one after the other.
 *
 * Pages are made in private memory and written past the buffers, each with a full
 * image in WAL, as heap's rewrite does.  Undo that they point to is written first,
 * with WAL records of its own.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "catalog/pg_class.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/chain.h"

#include "vacuum_copy_private.h"

static void
page_begin(ZCopyPage *out, uint32 len)
{
	int			slots = zheap_initial_slots;

	/* the longest rows leave no room for more */
	if (len + sizeof(ItemIdData) + SizeOfPageHeaderData + ZPAGE_SPECIAL_SIZE(slots) > BLCKSZ)
		slots = Min(slots, ZPAGE_INITIAL_SLOTS);
	zpage_init_apply(out->page, slots);
}

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
	out->page = (Page) palloc0(BLCKSZ);
}

static ZPageSlot *
slot_at(const ZCopyPage *out, int slotno)
{
	return zpage_slot(out->page, NULL, slotno);
}

static void add_directory(ZCopyPage *out, int slotno);

/* A record of the slot's owner joins its chain on this page. */
static ZUndoPtr
chain_add(ZCopyPage *out, ZUndoRecord *rec)
{
	ZPageSlot  *slot = slot_at(out, rec->slotno);
	ZOwner		owner = zpage_slot_owner(slot);

	rec->takeover = ZTAKE_FREE;
	if (owner.undo != ZUNDO_INVALID)
	{
		if (rec->type != ZOP_DIRECTORY && zpage_slot_count(slot) >= ZCHAIN_INTERVAL)
		{
			add_directory(out, rec->slotno);
			owner = zpage_slot_owner(slot);
		}
		rec->takeover = ZTAKE_OWN;
		rec->page_prev = owner.undo;
	}
	owner.undo = zchange_undo_alone(out->rel, out->block, rec);
	zpage_slot_set(slot, &owner,
				   rec->type == ZOP_DIRECTORY ? 0 : zpage_slot_count(slot) + 1);
	return owner.undo;
}

/* C1, as in zchange_execute. */
static void
add_directory(ZCopyPage *out, int slotno)
{
	ZPageView	view;
	ZUndoRecord rec = {0};
	char	   *bytes = palloc(ZUNDO_MAX_RECORD);

	zview_open(&view, out->rel);
	view.block = out->block;
	view.page = out->page;
	view.horizon = zview_horizon(&view);
	rec.type = ZOP_DIRECTORY;
	rec.slotno = slotno;
	rec.midlen = zrec_directory_encode(zchain_directory(&view, slotno), view.horizon,
									   slot_at(out, slotno)->undo, bytes);
	rec.mid = bytes;
	chain_add(out, &rec);
	zview_close(&view);
	pfree(bytes);
}

static void
run_end(ZCopyPage *out)
{
	ZUndoRecord rec = {0};

	if (out->run_count == 0)
		return;
	rec.type = ZOP_INSERT;
	rec.slotno = out->run_slotno;
	rec.offnum = out->run_first;
	rec.count = out->run_count;
	rec.cid = out->run_cid;
	out->run_count = 0;
	chain_add(out, &rec);
}

static void
page_end(ZCopyPage *out)
{
	if (page_is_empty(out))
		return;
	run_end(out);
	zpage_assert_valid(out->page);
	if (RelationNeedsWAL(out->rel))
		log_newpage(&out->rel->rd_node, MAIN_FORKNUM, out->block, out->page, true);
	PageSetChecksumInplace(out->page, out->block);
	smgrextend(RelationGetSmgr(out->rel), MAIN_FORKNUM, out->block, (char *) out->page, true);
	out->block++;
	memset(out->page, 0, BLCKSZ);
}

/*
 * No checkpoint knows of pages written past the buffers, so one that begins after
 * their WAL must find them on disk.  Without WAL, a permanent table is synced at
 * commit; an unlogged one must last through the next shutdown.
 */
void
copy_page_close(ZCopyPage *out)
{
	page_end(out);
	if (RelationNeedsWAL(out->rel) ||
		out->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(out->rel), MAIN_FORKNUM);
	pfree(out->page);
}

/* The owner's slot; a free one; one more than there are if the page may grow. */
static int
slot_for(ZCopyPage *out, FullTransactionId fxid)
{
	int			nslots = zpage_nslots(out->page);
	int			i;

	for (i = 1; i <= nslots; i++)
	{
		ZPageSlot  *slot = slot_at(out, i);

		/* they are taken in order */
		if (slot->word == 0 || FullTransactionIdEquals(zpage_slot_fxid(slot), fxid))
			break;
	}
	return i;
}

/* The slot's number if row and slot fit the page, or -1. */
static int
try_page(ZCopyPage *out, uint32 len, FullTransactionId fxid)
{
	Size		need = len + sizeof(ItemIdData) + (page_is_empty(out) ? 0 : out->spare);
	int			slotno = 0;

	if (FullTransactionIdIsValid(fxid))
	{
		slotno = slot_for(out, fxid);
		if (slotno > ZPAGE_MAX_INPAGE)
			return -1;
		if (slotno > zpage_nslots(out->page))
			need += sizeof(ZPageSlot);
	}
	if (need > zpage_free_total(out->page) ||
		PageGetMaxOffsetNumber(out->page) >= ZPAGE_MAX_OFFSET)
		return -1;
	return slotno;
}

int
copy_page_find(ZCopyPage *out, uint32 len, FullTransactionId fxid)
{
	int			slotno;

	if (PageIsNew(out->page))
		page_begin(out, len);
	slotno = try_page(out, len, fxid);
	if (slotno < 0)
	{
		page_end(out);
		page_begin(out, len);
		slotno = try_page(out, len, fxid);
		if (slotno < 0)
			elog(ERROR, "row of %u bytes does not fit an empty page", len);
	}
	if (slotno > zpage_nslots(out->page))
		zpage_grow_apply(out->page, 1);
	if (slotno > 0)
	{
		ZPageSlot  *slot = slot_at(out, slotno);
		ZOwner		owner = {fxid, slot->undo};

		zpage_slot_set(slot, &owner, zpage_slot_count(slot));
	}
	return slotno;
}

void
copy_page_tid(const ZCopyPage *out, ItemPointer tid)
{
	ItemPointerSet(tid, out->block, PageGetMaxOffsetNumber(out->page) + 1);
}

ZUndoPtr
copy_page_undo(ZCopyPage *out, ZUndoRecord *rec, bool newest)
{
	rec->offnum = PageGetMaxOffsetNumber(out->page) + 1;
	if (newest)
		return chain_add(out, rec);
	rec->takeover = ZTAKE_FREE;
	return zchange_undo_alone(out->rel, out->block, rec);
}

void
copy_page_inserted(ZCopyPage *out, int slotno, CommandId cid)
{
	OffsetNumber offnum = PageGetMaxOffsetNumber(out->page) + 1;

	if (out->run_count > 0 && out->run_slotno == slotno && out->run_cid == cid &&
		out->run_first + out->run_count == offnum)
	{
		out->run_count++;
		return;
	}
	run_end(out);
	out->run_slotno = slotno;
	out->run_first = offnum;
	out->run_count = 1;
	out->run_cid = cid;
}

void
copy_page_add(ZCopyPage *out, const char *row, uint32 len, FullTransactionId deleter)
{
	ZRowPlan	plan = {0};
	ZNewRow		new;

	new.offnum = PageGetMaxOffsetNumber(out->page) + 1;
	new.len = len;
	new.bytes = row;
	plan.op = ZOP_INSERT;
	plan.nrows = 1;
	plan.rows = &new;
	zpage_row_apply(out->page, &plan);

	if (FullTransactionIdIsValid(deleter))
		zpage_set_prunable(out->page, zfxid_xid(deleter));
}
