/*
 * inspect_private.h
 *		Shared by the functions that show the inside of tables: checks of arguments, copies of
 *		pages, and names of flags and states.
 */
#ifndef ZHEAP_INSPECT_PRIVATE_H
#define ZHEAP_INSPECT_PRIVATE_H

#include "utils/array.h"
#include "utils/rel.h"

#include "zheap/inspect/inspect.h"
#include "zheap/mvcc/view.h"
#include "zheap/page/row_format.h"

#include "inspect_result.h"

/* ---- inspect_relation.c ---- */

/* Return the argument as a block number.  ERROR (invalid_parameter_value) if not in the table. */
extern BlockNumber inspect_block(Relation rel, int64 block);

/*
 * Like zinspect_copy(), but if the server refuses to read the page, copy the bytes on disk.
 * Return whether the server could read the page.  Runs a subtransaction.
 */
extern bool inspect_copy_any(Relation rel, BlockNumber block, Page copy);

/*
 * Raise the ERROR for a page that should have rows and has none:
 * (object_not_in_prerequisite_state) if it is a sound page of another kind, else (data_corrupted).
 */
pg_noreturn extern void inspect_refuse_page(Relation rel, BlockNumber block, Page page);

/*
 * Copy the page with its overflow page into the view.  No lock is held afterwards.  ERROR as by
 * inspect_refuse_page() if it is no table page.
 */
extern void inspect_view(ZPageView *view, BlockNumber block);

/* ---- inspect_text.c ---- */

/*
 * Datums are allocated in the current context.  No function here takes a lock;
 * inspect_status() may read the commit log.
 */

/* An undo pointer as text, block/offset/generation. */
extern Datum inspect_pointer(ZUndoPtr ptr);

/* Set a column to an undo pointer as text, or leave it null if that is invalid. */
extern void inspect_set_pointer(InspectRow *row, int column, ZUndoPtr ptr);

/* Name of a transaction's status, "visible to all" if every snapshot sees it.  A constant. */
extern const char *inspect_status(const ZPageView *view, FullTransactionId fxid);

/* The names of the flags that are set, as text[]. */
extern Datum inspect_row_flags(const ZRowHeader *hdr);
extern Datum inspect_page_flags(Page page);

/* The row's "len" bytes as bytea, with "hdr" in place of the header that they begin with. */
extern Datum inspect_row_bytes(const char *row, uint32 len, const ZRowHeader *hdr);

/* Name of a LockTupleMode, "FOR UPDATE" and so on; "unknown" if it is none.  A constant. */
extern const char *inspect_lock_mode(int mode);

#endif							/* ZHEAP_INSPECT_PRIVATE_H */
