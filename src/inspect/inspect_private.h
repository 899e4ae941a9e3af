/*
 * inspect_private.h
 *		What the functions that look inside tables share: which tables and blocks they may be
 *		asked about, copies of pages, and names for what is found.
 */
#ifndef ZHEAP_INSPECT_PRIVATE_H
#define ZHEAP_INSPECT_PRIVATE_H

#include "funcapi.h"
#include "utils/array.h"
#include "utils/rel.h"

#include "zheap/inspect/inspect.h"
#include "zheap/mvcc/mvcc.h"

/* ---- inspect_relation.c ---- */

/* The function's block number; ERROR if the table has no such block. */
extern BlockNumber inspect_block(Relation rel, int64 block);

/*
 * As zinspect_copy(), also of a page that the server refuses to read: false then, and it is as on
 * disk.
 */
extern bool inspect_copy_any(Relation rel, BlockNumber block, Page copy);

/* A page that is to have rows has none: ERROR that says what it is, or what is wrong with it. */
pg_noreturn extern void inspect_refuse_page(Relation rel, BlockNumber block, Page page);

/* Copy the page with its overflow page into the view; ERROR if it is no table page. */
extern void inspect_view(ZPageView *view, BlockNumber block);

/* ---- inspect_text.c ---- */

/* A pointer as block/offset/generation. */
extern Datum inspect_pointer(ZUndoPtr ptr);

/* What became of a transaction, which is "all" if every snapshot sees it. */
extern const char *inspect_status(const ZPageView *view, FullTransactionId fxid);

/* The names of the flags that are set, as text[]. */
extern Datum inspect_row_flags(const ZRowHeader *hdr);
extern Datum inspect_page_flags(Page page);

/* A row's bytes, which begin with this header. */
extern Datum inspect_row_bytes(const char *row, uint32 len, const ZRowHeader *hdr);

/* "FOR UPDATE" and so on, of a LockTupleMode. */
extern const char *inspect_lock_mode(int mode);

#endif							/* ZHEAP_INSPECT_PRIVATE_H */
