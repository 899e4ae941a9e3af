/*
 * stale_entries.h
 *		Entries of live rows that an index scan has found to be stale, to be marked as dead on
 *		their leaf when the scan leaves it (N7, src/index/README.md).
 */
#ifndef ZHEAP_STALE_ENTRIES_H
#define ZHEAP_STALE_ENTRIES_H

#include "access/nbtree.h"
#include "storage/buf.h"

#include "zheap/btree/table_indexes.h"

typedef struct ZStaleEntries ZStaleEntries;

/*
 * Return whether entries of this scan can be marked: its leaf and the table's pages show by their
 * LSN whether they have changed.
 */
extern bool zstale_may_mark(IndexScanDesc scan);

/*
 * Note the entry that the scan is at, as one that no snapshot needs, as long as the row's page has
 * this LSN; "buffer" has the page.  Allocates *noted in the context, if need be.  Takes no lock.
 */
extern void zstale_note(ZStaleEntries **noted, MemoryContext context, IndexScanDesc scan,
						Buffer buffer, XLogRecPtr lsn);

/*
 * Mark the noted entries as dead, if the leaf and the pages of their rows have not changed since,
 * and forget them.  No buffer is locked on entry and exit; the leaf is locked exclusively
 * meanwhile, if that is possible at once.
 */
extern void zstale_mark(ZStaleEntries *noted, IndexScanDesc scan);

/*
 * Mark the items of the leaf all of whose TIDs are in "dead", by their places in currPos.items,
 * and end what BufferBeginSetHintBits() has begun.  The leaf is locked, and is as the scan has
 * read it.
 */
extern void zstale_mark_leaf(const BTScanPosData *pos, const bool *dead, Buffer leaf);

#endif							/* ZHEAP_STALE_ENTRIES_H */
