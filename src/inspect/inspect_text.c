/*
 * inspect_text.c
 *		Names for flags, states and pointers of pages and undo.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/lockoptions.h"
#include "utils/builtins.h"

#include "zheap/mvcc/status.h"
#include "zheap/undo/undo_ptr.h"

#include "inspect_private.h"

Datum
inspect_pointer(ZUndoPtr ptr)
{
	return PointerGetDatum(cstring_to_text(psprintf("%u/%u/%u", zundo_ptr_block(ptr),
													zundo_ptr_offset(ptr),
													zundo_ptr_generation(ptr))));
}

void
inspect_set_pointer(InspectRow *row, int column, ZUndoPtr ptr)
{
	if (ptr != ZUNDO_INVALID)
		inspect_set(row, column, inspect_pointer(ptr));
}

const char *
inspect_status(const ZPageView *view, FullTransactionId fxid)
{
	if (zview_is_frozen(view, fxid))
		return "visible to all";
	switch (zmvcc_xact_status(fxid))
	{
		case ZXACT_ALL_VISIBLE:
			return "visible to all";
		case ZXACT_COMMITTED:
			return "committed";
		case ZXACT_ABORTED:
			return "aborted";
		case ZXACT_OWN:
		case ZXACT_IN_PROGRESS:
			return "in progress";
		case ZXACT_UNKNOWN:
			break;
	}
	return "unknown";
}

/* ---- flags ---- */

typedef struct FlagNames
{
	Datum		names[16];
	int			n;
} FlagNames;

static void
add_flag(FlagNames *flags, bool is_set, const char *name)
{
	Assert(flags->n < (int) lengthof(flags->names));
	if (is_set)
		flags->names[flags->n++] = CStringGetTextDatum(name);
}

static Datum
flags_array(FlagNames *flags)
{
	return PointerGetDatum(construct_array(flags->names, flags->n, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

Datum
inspect_row_flags(const ZRowHeader *hdr)
{
	FlagNames	flags = {.n = 0};
	bool		deleted = (hdr->flags & ZROW_DELETED) != 0;

	add_flag(&flags, hdr->flags & ZROW_HASNULL, "has_null");
	add_flag(&flags, hdr->flags & ZROW_HASEXTERNAL, "has_external");
	add_flag(&flags, hdr->flags & ZROW_INSERTED, "inserted");
	add_flag(&flags, deleted, "deleted");
	add_flag(&flags, hdr->flags & ZROW_MOVED, "moved");
	add_flag(&flags, hdr->flags & ZROW_REUSED, "reused");
	add_flag(&flags, hdr->flags & ZROW_PADDED, "padded");
	add_flag(&flags, hdr->flags & ZROW_ORIGIN, "origin");
	add_flag(&flags, !deleted && (hdr->flags2 & ZROW2_SPECULATIVE), "speculative");
	add_flag(&flags, zrow_is_tombstone(hdr), "tombstone");
	add_flag(&flags, hdr->flags2 & ZROW2_SEVERAL_KEYS, "several_keys");
	add_flag(&flags, hdr->flags2 & ZROW2_MOVED_PART, "moved_part");
	add_flag(&flags, hdr->flags2 & ZROW2_KEYS_UPDATED, "keys_updated");
	return flags_array(&flags);
}

Datum
inspect_page_flags(Page page)
{
	FlagNames	flags = {.n = 0};
	uint16		bits = ((PageHeader) page)->pd_flags;

	add_flag(&flags, bits & PD_HAS_FREE_LINES, "has_free_lines");
	add_flag(&flags, bits & PD_PAGE_FULL, "page_full");
	add_flag(&flags, bits & PD_ALL_VISIBLE, "all_visible");
	add_flag(&flags, bits & ~PD_VALID_FLAG_BITS, "unknown");
	return flags_array(&flags);
}

/* ---- rows ---- */

Datum
inspect_row_bytes(const char *row, uint32 len, const ZRowHeader *hdr)
{
	bytea	   *bytes = (bytea *) palloc(VARHDRSZ + len);

	Assert(len >= ZROW_HDR_SIZE);
	SET_VARSIZE(bytes, VARHDRSZ + len);
	memcpy(VARDATA(bytes), row, len);
	zrow_header_put(VARDATA(bytes), hdr);
	return PointerGetDatum(bytes);
}

static const char *const lock_modes[] = {
	[LockTupleKeyShare] = "FOR KEY SHARE",
	[LockTupleShare] = "FOR SHARE",
	[LockTupleNoKeyExclusive] = "FOR NO KEY UPDATE",
	[LockTupleExclusive] = "FOR UPDATE"
};

const char *
inspect_lock_mode(int mode)
{
	return mode >= 0 && mode < (int) lengthof(lock_modes) ? lock_modes[mode] : "unknown";
}
