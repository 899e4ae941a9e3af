/*
 * mvcc_walk.c
 *		From a version of a row to the one before.
 *
 * A version knows its modifier and a place in that transaction's undo chain for
 * this page.  The record about the row is there or further down (U2: chains
 * end).  For a row whose slot was reused since (ZROW_REUSED) the walk goes on
 * below, through the owners that the slot had before.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "mvcc_chain.h"
#include "mvcc_reconstruct.h"

/* a slot of the page, whatever page it lies on */
static ZPageSlot *
slot_of(ZPageView *view, OffsetNumber offnum, int slotno)
{
	if (slotno >= ZPAGE_FIRST_OVERFLOW && view->overflow == NULL)
		zheap_corrupt(view->rel, view->block, offnum,
					  "row names transaction slot %d, but the page has no overflow page", slotno);
	return zpage_slot(view->page, view->overflow, slotno);
}

/* Below the horizon a transaction need not be known (S2). */
static void
version_set_modifier(ZPageView *view, ZRowVersion *version, const ZPageSlot *slot, bool upper_bound)
{
	if (zview_is_frozen(view, slot->fxid))
	{
		version->fxid = InvalidFullTransactionId;
		version->undo = ZUNDO_INVALID;
		version->upper_bound = false;
		return;
	}
	version->fxid = slot->fxid;
	version->undo = slot->undo;
	version->upper_bound = upper_bound;
}

void
zmvcc_current(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	const char *wrong = zpage_check_row(view->page, offnum);
	ZPageSlot	none = {InvalidFullTransactionId, ZUNDO_INVALID};

	if (wrong)
		zheap_corrupt(view->rel, view->block, offnum, "%s", wrong);
	version->row = zpage_row(view->page, offnum, &version->len, NULL);
	version->offnum = offnum;
	zrow_header_get(version->row, &version->hdr);
	version->cid = InvalidCommandId;
	version->next_fxid = InvalidFullTransactionId;
	version->next_cid = InvalidCommandId;
	if (unlikely(view->reconstructed) && zreconstruct_name(view, version))
		return;
	if (version->hdr.slotno == 0)
		version_set_modifier(view, version, &none, false);
	else
		version_set_modifier(view, version, slot_of(view, offnum, version->hdr.slotno),
							 (version->hdr.flags & ZROW_REUSED) != 0);
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

/* Build the map of a slot on the page, from its newest record. */
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
 * The map of the row's slot if there is one by now.  "from_newest": a walk from the
 * slot's newest record is about to begin; the second one is worth a map, be it in this view
 * or in another one before.
 */
static ZChainMap *
owner_map(ZPageView *view, int slotno, bool from_newest)
{
	uint32		bit = (uint32) 1 << slotno;
	ZChainEntry *entry;

	if (view->mapped & bit)
		return view->maps[slotno];
	entry = zchain_entry(view, slotno);
	if (entry && entry->map)
		return entry->map;
	if (!from_newest)
		return NULL;
	if (view->walked & bit)
		return view_map(view, slotno);
	view->walked |= bit;
	if (entry)
		return zchain_entry_build(view, entry);
	zchain_entry_add(view, slotno);
	return NULL;
}

/* Has the slot that the version names room for a map? */
static bool
slot_is_mappable(ZPageView *view, int slotno)
{
	return slotno > 0 && slotno <= zpage_nslots(view->page);
}

/* The map that may know the version's record; NULL: none. */
static ZChainMap *
version_map(ZPageView *view, const ZRowVersion *version)
{
	int			slotno = version->hdr.slotno;

	if (version->upper_bound || !slot_is_mappable(view, slotno))
		return NULL;
	return owner_map(view, slotno,
					 zpage_slot(view->page, NULL, slotno)->undo == version->undo);
}

/* Where the walk for a row may begin: right at its record, if a map tells it. */
static ZUndoPtr
walk_start(ZPageView *view, const ZRowVersion *version)
{
	ZChainMap  *map = version_map(view, version);
	ZUndoPtr	found;

	if (map == NULL)
		return version->undo;
	found = zchain_find(map, version);
	return found != ZUNDO_INVALID ? found : version->undo;
}

void
zmvcc_map_slot(ZPageView *view, int slotno)
{
	if (slot_is_mappable(view, slotno) && !(view->mapped & (uint32) 1 << slotno))
		view_map(view, slotno);
}

bool
zmvcc_owner_has(ZPageView *view, const ZRowVersion *version)
{
	ZChainMap  *map;

	if (!slot_is_mappable(view, version->hdr.slotno))
		return false;
	map = owner_map(view, version->hdr.slotno, false);
	return map != NULL && zchain_has(map, version);
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
 * that it is visible to all, whichever it was.
 */
static bool
owner_search(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
			 FullTransactionId *fxid, ZUndoPtr *ptr)
{
	for (;;)
	{
		/* a hot row has many versions; does nothing while a page is locked */
		CHECK_FOR_INTERRUPTS();
		if (!record_read(view, *ptr, version->offnum, rec))
		{
			record_gone(view, version->offnum, *fxid, *ptr);
			*fxid = InvalidFullTransactionId;
			return false;
		}
		if (zrec_undo_covers(rec, version->offnum))
			return true;
		if (rec->takeover != ZTAKE_OWN)
			break;
		*ptr = rec->page_prev;
	}
	if (!version->upper_bound)
		zheap_corrupt(view->rel, view->block, version->offnum,
					  "undo chain of the row's transaction slot has no record of it");
	*fxid = InvalidFullTransactionId;
	if (rec->takeover == ZTAKE_REUSED &&
		!FullTransactionIdPrecedes(rec->slot_prev.fxid, view->horizon))
	{
		*fxid = rec->slot_prev.fxid;
		*ptr = rec->slot_prev.undo;
	}
	return false;
}

/*
 * The map through all owners of our own transaction, if the version may be of any of
 * them: it names the slot's newest record.  Again the second walk is worth a map.
 */
static ZChainMap *
own_map(ZPageView *view, const ZRowVersion *version)
{
	int			slotno = version->hdr.slotno;
	const ZPageSlot *slot;
	ZChainEntry *entry;

	if (!slot_is_mappable(view, slotno))
		return NULL;
	slot = zpage_slot(view->page, NULL, slotno);
	if (slot->undo != version->undo || !FullTransactionIdEquals(slot->fxid, version->fxid))
		return NULL;
	entry = zchain_entry(view, slotno);
	if (entry && entry->map)
		return entry->map;
	if (zmvcc_version_status(view, version) != ZXACT_OWN)
		return NULL;
	if (entry)
		return zchain_entry_build(view, entry);
	zchain_entry_add(view, slotno);
	return NULL;
}

/*
 * For a version with an upper bound: past all owners of our own transaction that did not make
 * it, if a map tells.
 */
static bool
chain_jump(ZPageView *view, ZRowVersion *version)
{
	ZChainMap  *map = own_map(view, version);
	ZPageSlot	where;

	if (map == NULL)
		return false;
	switch (zchain_newest(map, version->offnum, &where))
	{
		case ZCHAIN_FOUND:
			version->fxid = where.fxid;
			version->undo = where.undo;
			version->upper_bound = false;
			return true;
		case ZCHAIN_BELOW:
			version_set_modifier(view, version, &where, true);
			return true;
		default:
			return false;
	}
}

void
zmvcc_locate(ZPageView *view, ZRowVersion *version)
{
	ZRowVersion	jumped = *version;

	if (version->upper_bound && chain_jump(view, &jumped) && !jumped.upper_bound &&
		FullTransactionIdIsValid(jumped.fxid))
		*version = jumped;
}

bool
zmvcc_record(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
			 FullTransactionId *fxid, ZUndoPtr *at)
{
	ZRowVersion	jumped;

	if (version->upper_bound)
	{
		jumped = *version;
		version = &jumped;
		if (chain_jump(view, &jumped) && !FullTransactionIdIsValid(jumped.fxid))
			return false;
	}
	*at = walk_start(view, version);
	*fxid = version->fxid;
	while (!owner_search(view, version, rec, fxid, at))
	{
		if (!FullTransactionIdIsValid(*fxid))
			return false;
	}
	return true;
}

bool
zmvcc_command(ZPageView *view, const ZRowVersion *version, CommandId *cid)
{
	ZChainMap  *map = version_map(view, version);
	FullTransactionId owner;
	ZUndoRecord rec;
	ZUndoPtr	at;

	if (map && zchain_command(map, version, cid))
		return true;
	if (!zmvcc_record(view, version, &rec, &owner, &at))
		return false;
	*cid = rec.cid;
	return true;
}

bool
zmvcc_chain_step(ZPageView *view, ZRowVersion *version)
{
	ZUndoRecord rec;

	Assert(version->upper_bound);
	if (owner_search(view, version, &rec, &version->fxid, &version->undo))
	{
		version->upper_bound = false;
		return true;
	}
	if (!FullTransactionIdIsValid(version->fxid))
		version->upper_bound = false;
	return false;
}

void
zmvcc_chain_descend(ZPageView *view, ZRowVersion *version)
{
	if (!chain_jump(view, version))
		zmvcc_chain_step(view, version);
}

static char *
version_buffer(ZPageView *view)
{
	if (view->version_buf == NULL)
		view->version_buf = MemoryContextAlloc(view->context, BLCKSZ);
	return view->version_buf;
}

/*
 * Rebuild the bytes before an update into view->version_buf (where the newer bytes may
 * lie already).
 */
static void
version_reconstruct(ZPageView *view, ZRowVersion *version, const ZUndoRecord *rec)
{
	uint32		oldlen = ZROW_HDR_SIZE + rec->prefix + rec->midlen + rec->suffix;
	char	   *body;

	if ((uint32) ZROW_HDR_SIZE + rec->prefix + rec->suffix > version->len || oldlen > BLCKSZ)
		zheap_corrupt(view->rel, view->block, version->offnum,
					  "undo record does not fit the row");
	body = version_buffer(view) + ZROW_HDR_SIZE;
	if (version->row != view->version_buf)
		memcpy(view->version_buf, version->row, ZROW_HDR_SIZE + rec->prefix);
	memmove(body + rec->prefix + rec->midlen,
			version->row + version->len - rec->suffix, rec->suffix);
	memcpy(body + rec->prefix, rec->mid, rec->midlen);
	version->row = view->version_buf;
	version->len = oldlen;
}

bool
zmvcc_reconstruct_body(ZPageView *view, ZRowVersion *version)
{
	ZUndoRecord rec;
	ZUndoPtr	ptr;
	char	   *row;

	if (!zrow_is_tombstone(&version->hdr))
		return true;
	memcpy(&ptr, version->row + ZROW_HDR_SIZE, sizeof(ptr));
	if (!record_read(view, ptr, version->offnum, &rec))
	{
		if (FullTransactionIdIsValid(version->fxid))
			record_gone(view, version->offnum, version->fxid, ptr);
		return false;
	}
	if (rec.type != ZOP_TOMBSTONE || rec.offnum != version->offnum ||
		rec.midlen > BLCKSZ - ZROW_HDR_SIZE)
		zheap_corrupt(view->rel, view->block, version->offnum,
					  "undo record at block %u, offset %u is not the body of the row",
					  zundo_ptr_block(ptr), zundo_ptr_offset(ptr));
	row = version_buffer(view);
	version->hdr.flags2 &= ~ZROW2_TOMBSTONE;
	zrow_header_put(row, &version->hdr);
	memcpy(row + ZROW_HDR_SIZE, rec.mid, rec.midlen);
	version->row = row;
	version->len = ZROW_HDR_SIZE + rec.midlen;
	return true;
}

void
zmvcc_find_modifier(ZPageView *view, ZRowVersion *version)
{
	while (version->upper_bound)
		zmvcc_chain_descend(view, version);
}

bool
zmvcc_previous(ZPageView *view, ZRowVersion *version)
{
	ZUndoRecord rec;
	FullTransactionId owner;
	ZUndoPtr	at;
	ZPageSlot	prev;
	uint16		natts = version->hdr.natts;
	uint8		parity = version->hdr.flags2 & ZROW2_PARITY;

	Assert(FullTransactionIdIsValid(version->fxid));
	if (!zmvcc_reconstruct_body(view, version) || !zmvcc_record(view, version, &rec, &owner, &at))
	{
		/* the same version, but now known to be visible to all */
		version->fxid = InvalidFullTransactionId;
		version->upper_bound = false;
		return true;
	}
	if (rec.type == ZOP_INSERT)
		return false;

	version->cid = InvalidCommandId;
	version->next_fxid = owner;
	version->next_cid = rec.cid;
	if (rec.type == ZOP_UPDATE)
		version_reconstruct(view, version, &rec);
	version->hdr = rec.old_hdr;
	version->hdr.flags &= ~ZROW_PADDED;
	version->hdr.flags2 |= rec.type == ZOP_UPDATE ? parity ^ ZROW2_PARITY : parity;
	if (rec.old_hdr.natts == ZROW_NATTS_KEEP)
		version->hdr.natts = natts;
	if (rec.type == ZOP_UPDATE)
		zrow_header_put(view->version_buf, &version->hdr);

	if (rec.prev_own)
	{
		prev.fxid = owner;
		prev.undo = rec.page_prev;
	}
	else
		prev = rec.row_prev;
	version_set_modifier(view, version, &prev, rec.prev_upper_bound);
	return true;
}
