/*
 * mvcc_walk.c
 *		From a version of a row to the one before.
 *
 * A version knows its modifier and a place in that transaction's undo chain for
 * this page.  The record about the row is there or further down (U2: chains
 * end).  For a row whose slot was taken over since (ZROW_REUSED) the walk goes on
 * below, through the owners that the slot had before.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "zheap/mvcc/mvcc.h"

/* a slot of the page, whatever page it lies on */
static ZPageSlot *
slot_of(ZPageView *view, OffsetNumber offnum, int slotno)
{
	if (slotno >= ZPAGE_FIRST_OVERFLOW && view->slotpage == NULL)
		zheap_corrupt(view->rel, view->block, offnum,
					  "row names transaction slot %d, but the page has no slot page", slotno);
	return zpage_slot(view->page, view->slotpage, slotno);
}

/* Below the horizon a transaction need not be known (S2). */
static void
image_set_modifier(ZPageView *view, ZImage *image, const ZPageSlot *slot, bool chain)
{
	if (!FullTransactionIdIsValid(slot->fxid) ||
		FullTransactionIdPrecedes(slot->fxid, view->horizon))
	{
		image->fxid = InvalidFullTransactionId;
		image->undo = ZUNDO_INVALID;
		image->chain = false;
		return;
	}
	image->fxid = slot->fxid;
	image->undo = slot->undo;
	image->chain = chain;
}

void
zmvcc_current(ZPageView *view, OffsetNumber offnum, ZImage *image)
{
	const char *wrong = zpage_check_row(view->page, offnum);
	ZPageSlot	none = {InvalidFullTransactionId, ZUNDO_INVALID};

	if (wrong)
		zheap_corrupt(view->rel, view->block, offnum, "%s", wrong);
	image->row = zpage_row(view->page, offnum, &image->len, NULL);
	image->offnum = offnum;
	zrow_header_get(image->row, &image->hdr);
	image->cid = InvalidCommandId;
	image->next_fxid = InvalidFullTransactionId;
	image->next_cid = InvalidCommandId;
	if (image->hdr.slotno == 0)
		image_set_modifier(view, image, &none, false);
	else
		image_set_modifier(view, image, slot_of(view, offnum, image->hdr.slotno),
						   (image->hdr.flags & ZROW_REUSED) != 0);
}

/* Read and decode; false if the record is gone. */
static bool
record_read(ZPageView *view, ZUndoPtr ptr, OffsetNumber offnum, ZUndoRecord *rec)
{
	Size		len;
	const char *bytes = zundo_read(&view->reader, ptr, &len);

	if (bytes == NULL)
		return false;
	if (zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, rec) == 0)
		zheap_corrupt(view->rel, view->block, offnum,
					  "undo record at block %u, offset %u cannot be read",
					  zundo_ptr_block(ptr), zundo_ptr_offset(ptr));
	return true;
}

/*
 * Note for every row where its newest record lies in the part of the slot's chain
 * that belongs to its present owner.
 */
static void
map_build(ZPageView *view, int slotno)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);
	ZUndoPtr	ptr = zpage_slot(view->page, NULL, slotno)->undo;
	ZUndoPtr   *map;
	ZUndoRecord rec;
	OffsetNumber off;

	if (view->maps == NULL)
		view->maps = MemoryContextAllocZero(view->context,
											(ZPAGE_MAX_INPAGE + 1) * sizeof(ZUndoPtr *));
	map = view->maps[slotno];
	if (map == NULL)
		map = view->maps[slotno] = MemoryContextAlloc(view->context,
													  (ZPAGE_MAX_OFFSET + 1) * sizeof(ZUndoPtr));
	memset(map, 0, (ZPAGE_MAX_OFFSET + 1) * sizeof(ZUndoPtr));
	while (record_read(view, ptr, InvalidOffsetNumber, &rec))
	{
		OffsetNumber last = 0;

		if (rec.type == ZOP_UPDATE || rec.type == ZOP_DELETE)
			last = rec.offnum;
		else if (rec.type == ZOP_INSERT)
			last = rec.open_run ? max : Min(max, rec.offnum + rec.count - 1);
		for (off = rec.offnum; off <= last; off++)
		{
			if (map[off] == ZUNDO_INVALID)
				map[off] = ptr;
		}
		if (rec.takeover != ZTAKE_OWN)
			break;
		ptr = rec.page_prev;
	}
	view->mapped |= (uint32) 1 << slotno;
}

/* Where the walk for a row may begin: at its slot's head, or right at its record. */
static ZUndoPtr
walk_start(ZPageView *view, const ZImage *image)
{
	int			slotno = image->hdr.slotno;

	if (image->chain || slotno == 0 || slotno > zpage_nslots(view->page) ||
		zpage_slot(view->page, NULL, slotno)->undo != image->undo)
		return image->undo;
	if (!(view->mapped & (uint32) 1 << slotno))
	{
		if (!(view->walked & (uint32) 1 << slotno))
		{
			view->walked |= (uint32) 1 << slotno;
			return image->undo;
		}
		map_build(view, slotno);
	}
	if (view->maps[slotno][image->offnum] != ZUNDO_INVALID)
		return view->maps[slotno][image->offnum];
	return image->undo;
}

/*
 * The record is gone: recycled since the view was made.  Then the horizon has
 * passed its transaction (U4).
 */
static void
record_gone(ZPageView *view, OffsetNumber offnum, FullTransactionId fxid, ZUndoPtr ptr)
{
	view->horizon = zview_horizon(view);
	if (!FullTransactionIdPrecedes(fxid, view->horizon))
		zheap_corrupt(view->rel, view->block, offnum,
					  "undo record at block %u, offset %u of transaction %u is gone",
					  zundo_ptr_block(ptr), zundo_ptr_offset(ptr), zfxid_xid(fxid));
}

/*
 * Look for the row's record among those of one owner, from *ptr on.  If there is
 * none, *ptr and *fxid become those of the owner before; an invalid *fxid tells
 * that whoever it was is visible to all.
 */
static bool
owner_search(ZPageView *view, const ZImage *image, ZUndoRecord *rec,
			 FullTransactionId *fxid, ZUndoPtr *ptr)
{
	for (;;)
	{
		if (!record_read(view, *ptr, image->offnum, rec))
		{
			record_gone(view, image->offnum, *fxid, *ptr);
			*fxid = InvalidFullTransactionId;
			return false;
		}
		if (zrec_undo_covers(rec, image->offnum))
			return true;
		if (rec->takeover != ZTAKE_OWN)
			break;
		*ptr = rec->page_prev;
	}
	if (!image->chain)
		zheap_corrupt(view->rel, view->block, image->offnum,
					  "undo chain of the row's transaction slot has no record of it");
	*fxid = InvalidFullTransactionId;
	if (rec->takeover == ZTAKE_PUSHED &&
		!FullTransactionIdPrecedes(rec->slot_prev.fxid, view->horizon))
	{
		*fxid = rec->slot_prev.fxid;
		*ptr = rec->slot_prev.undo;
	}
	return false;
}

bool
zmvcc_record(ZPageView *view, const ZImage *image, ZUndoRecord *rec,
			 FullTransactionId *fxid, ZUndoPtr *at)
{
	*at = walk_start(view, image);
	*fxid = image->fxid;
	while (!owner_search(view, image, rec, fxid, at))
	{
		if (!FullTransactionIdIsValid(*fxid))
			return false;
	}
	return true;
}

bool
zmvcc_chain_step(ZPageView *view, ZImage *image)
{
	ZUndoRecord rec;

	Assert(image->chain);
	if (owner_search(view, image, &rec, &image->fxid, &image->undo))
	{
		image->chain = false;
		return true;
	}
	if (!FullTransactionIdIsValid(image->fxid))
		image->chain = false;
	return false;
}

static char *
image_buffer(ZPageView *view)
{
	if (view->image == NULL)
		view->image = MemoryContextAlloc(view->context, BLCKSZ);
	return view->image;
}

/*
 * Rebuild the bytes before an update into view->image (where the newer bytes may
 * lie already).
 */
static void
image_unapply_update(ZPageView *view, ZImage *image, const ZUndoRecord *rec)
{
	uint32		oldlen = ZROW_HDR_SIZE + rec->prefix + rec->midlen + rec->suffix;
	char	   *body;

	if ((uint32) ZROW_HDR_SIZE + rec->prefix + rec->suffix > image->len || oldlen > BLCKSZ)
		zheap_corrupt(view->rel, view->block, image->offnum,
					  "undo record does not fit the row");
	body = image_buffer(view) + ZROW_HDR_SIZE;
	if (image->row != view->image)
		memcpy(view->image, image->row, ZROW_HDR_SIZE + rec->prefix);
	memmove(body + rec->prefix + rec->midlen,
			image->row + image->len - rec->suffix, rec->suffix);
	memcpy(body + rec->prefix, rec->mid, rec->midlen);
	image->row = view->image;
	image->len = oldlen;
}

bool
zmvcc_restore_body(ZPageView *view, ZImage *image)
{
	ZUndoRecord rec;
	ZUndoPtr	ptr;
	char	   *row;

	if (!zrow_is_stripped(&image->hdr))
		return true;
	memcpy(&ptr, image->row + ZROW_HDR_SIZE, sizeof(ptr));
	if (!record_read(view, ptr, image->offnum, &rec))
	{
		if (FullTransactionIdIsValid(image->fxid))
			record_gone(view, image->offnum, image->fxid, ptr);
		return false;
	}
	if (rec.type != ZOP_STRIP || rec.offnum != image->offnum ||
		rec.midlen > BLCKSZ - ZROW_HDR_SIZE)
		zheap_corrupt(view->rel, view->block, image->offnum,
					  "undo record at block %u, offset %u is not the body of the row",
					  zundo_ptr_block(ptr), zundo_ptr_offset(ptr));
	row = image_buffer(view);
	image->hdr.flags2 &= ~ZROW2_STRIPPED;
	zrow_header_put(row, &image->hdr);
	memcpy(row + ZROW_HDR_SIZE, rec.mid, rec.midlen);
	image->row = row;
	image->len = ZROW_HDR_SIZE + rec.midlen;
	return true;
}

void
zmvcc_find_modifier(ZPageView *view, ZImage *image)
{
	while (image->chain)
		zmvcc_chain_step(view, image);
}

bool
zmvcc_previous(ZPageView *view, ZImage *image)
{
	ZUndoRecord rec;
	FullTransactionId owner;
	ZUndoPtr	at;
	ZPageSlot	prev;
	uint16		natts = image->hdr.natts;
	uint8		parity = image->hdr.flags2 & ZROW2_PARITY;

	Assert(FullTransactionIdIsValid(image->fxid));
	if (!zmvcc_restore_body(view, image) || !zmvcc_record(view, image, &rec, &owner, &at))
	{
		/* the same version, but now known to be visible to all */
		image->fxid = InvalidFullTransactionId;
		image->chain = false;
		return true;
	}
	if (rec.type == ZOP_INSERT)
		return false;

	image->cid = InvalidCommandId;
	image->next_fxid = owner;
	image->next_cid = rec.cid;
	if (rec.type == ZOP_UPDATE)
		image_unapply_update(view, image, &rec);
	image->hdr = rec.old_hdr;
	image->hdr.flags &= ~ZROW_PADDED;
	image->hdr.flags2 |= rec.type == ZOP_UPDATE ? parity ^ ZROW2_PARITY : parity;
	if (rec.old_hdr.natts == ZROW_NATTS_KEEP)
		image->hdr.natts = natts;
	if (rec.type == ZOP_UPDATE)
		zrow_header_put(view->image, &image->hdr);

	if (rec.prev_own)
	{
		prev.fxid = owner;
		prev.undo = rec.page_prev;
	}
	else
		prev = rec.row_prev;
	image_set_modifier(view, image, &prev, rec.prev_chain);
	return true;
}
