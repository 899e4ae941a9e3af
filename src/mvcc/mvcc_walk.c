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

#include "mvcc_chain.h"
#include "mvcc_rewind.h"

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
	if (zview_is_frozen(view, slot->fxid))
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
	if (unlikely(view->rewound) && zrewind_name(view, image))
		return;
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

/* Build the map of a slot on the page, from its head. */
static ZChainMap *
view_map(ZPageView *view, int slotno)
{
	if (view->maps == NULL)
		view->maps = MemoryContextAllocZero(view->context,
											(ZPAGE_MAX_INPAGE + 1) * sizeof(ZChainMap *));
	if (view->maps[slotno])
		zchain_free(view->maps[slotno]);
	view->maps[slotno] = NULL;
	view->maps[slotno] = zchain_build(view, zpage_slot(view->page, NULL, slotno), false,
									  view->context);
	view->mapped |= (uint32) 1 << slotno;
	return view->maps[slotno];
}

/*
 * The map of the row's slot if there is one by now.  "head": a walk from the
 * slot's head is about to begin; the second one is worth a map, be it in this view
 * or in another one before.
 */
static ZChainMap *
owner_map(ZPageView *view, int slotno, bool head)
{
	uint32		bit = (uint32) 1 << slotno;
	ZChainEntry *entry;

	if (view->mapped & bit)
		return view->maps[slotno];
	entry = zchain_entry(view, slotno);
	if (entry && entry->map)
		return entry->map;
	if (!head)
		return NULL;
	if (view->walked & bit)
		return view_map(view, slotno);
	view->walked |= bit;
	if (entry)
		return zchain_entry_build(view, entry);
	zchain_entry_add(view, slotno);
	return NULL;
}

/* Has the slot that the image names room for a map? */
static bool
slot_is_mappable(ZPageView *view, int slotno)
{
	return slotno > 0 && slotno <= zpage_nslots(view->page);
}

/* The map that may know the image's record; NULL: none. */
static ZChainMap *
image_map(ZPageView *view, const ZImage *image)
{
	int			slotno = image->hdr.slotno;

	if (image->chain || !slot_is_mappable(view, slotno))
		return NULL;
	return owner_map(view, slotno,
					 zpage_slot(view->page, NULL, slotno)->undo == image->undo);
}

/* Where the walk for a row may begin: right at its record, if a map tells it. */
static ZUndoPtr
walk_start(ZPageView *view, const ZImage *image)
{
	ZChainMap  *map = image_map(view, image);
	ZUndoPtr	found;

	if (map == NULL)
		return image->undo;
	found = zchain_find(map, image);
	return found != ZUNDO_INVALID ? found : image->undo;
}

void
zmvcc_map_slot(ZPageView *view, int slotno)
{
	if (slot_is_mappable(view, slotno) && !(view->mapped & (uint32) 1 << slotno))
		view_map(view, slotno);
}

bool
zmvcc_owner_has(ZPageView *view, const ZImage *image)
{
	ZChainMap  *map;

	if (!slot_is_mappable(view, image->hdr.slotno))
		return false;
	map = owner_map(view, image->hdr.slotno, false);
	return map != NULL && zchain_has(map, image);
}

/*
 * The record is gone: recycled since the view was made.  Then the horizon has
 * passed its transaction (U4).
 */
static void
record_gone(ZPageView *view, OffsetNumber offnum, FullTransactionId fxid, ZUndoPtr ptr)
{
	if (!FullTransactionIdPrecedes(fxid, zview_horizon(view)))
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
		/* a hot row has many versions; does nothing while a page is locked */
		CHECK_FOR_INTERRUPTS();
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

/*
 * The map through all owners of our own transaction, if the image may be of any of
 * them: it names the slot's head.  Again the second walk is worth a map.
 */
static ZChainMap *
own_map(ZPageView *view, const ZImage *image)
{
	int			slotno = image->hdr.slotno;
	const ZPageSlot *slot;
	ZChainEntry *entry;

	if (!slot_is_mappable(view, slotno))
		return NULL;
	slot = zpage_slot(view->page, NULL, slotno);
	if (slot->undo != image->undo || !FullTransactionIdEquals(slot->fxid, image->fxid))
		return NULL;
	entry = zchain_entry(view, slotno);
	if (entry && entry->map)
		return entry->map;
	if (zmvcc_image_fate(view, image) != ZFATE_OWN)
		return NULL;
	if (entry)
		return zchain_entry_build(view, entry);
	zchain_entry_add(view, slotno);
	return NULL;
}

/*
 * For an image with chain: past all owners of our own transaction that did not make
 * it, if a map tells.
 */
static bool
chain_jump(ZPageView *view, ZImage *image)
{
	ZChainMap  *map = own_map(view, image);
	ZPageSlot	where;

	if (map == NULL)
		return false;
	switch (zchain_newest(map, image->offnum, &where))
	{
		case ZCHAIN_FOUND:
			image->fxid = where.fxid;
			image->undo = where.undo;
			image->chain = false;
			return true;
		case ZCHAIN_BELOW:
			image_set_modifier(view, image, &where, true);
			return true;
		default:
			return false;
	}
}

void
zmvcc_locate(ZPageView *view, ZImage *image)
{
	ZImage		jumped = *image;

	if (image->chain && chain_jump(view, &jumped) && !jumped.chain &&
		FullTransactionIdIsValid(jumped.fxid))
		*image = jumped;
}

bool
zmvcc_record(ZPageView *view, const ZImage *image, ZUndoRecord *rec,
			 FullTransactionId *fxid, ZUndoPtr *at)
{
	ZImage		jumped;

	if (image->chain)
	{
		jumped = *image;
		image = &jumped;
		if (chain_jump(view, &jumped) && !FullTransactionIdIsValid(jumped.fxid))
			return false;
	}
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
zmvcc_command(ZPageView *view, const ZImage *image, CommandId *cid)
{
	ZChainMap  *map = image_map(view, image);
	FullTransactionId owner;
	ZUndoRecord rec;
	ZUndoPtr	at;

	if (map && zchain_command(map, image, cid))
		return true;
	if (!zmvcc_record(view, image, &rec, &owner, &at))
		return false;
	*cid = rec.cid;
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

void
zmvcc_chain_descend(ZPageView *view, ZImage *image)
{
	if (!chain_jump(view, image))
		zmvcc_chain_step(view, image);
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
		zmvcc_chain_descend(view, image);
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
