/*
 * index_delete.h
 *		Private to src/index: the state of one deletion of index entries.
 */
#ifndef ZHEAP_INDEX_DELETE_H
#define ZHEAP_INDEX_DELETE_H

#include "access/tableam.h"

#include "zheap/index/index.h"
#include "zheap/mvcc/view.h"

/* State of one deletion. */
typedef struct ZIndexDelete
{
	Relation	table;
	TM_IndexDeleteOp *op;
	ZPageView	view;
	Buffer		buffer;			/* current table page, locked in share mode; or invalid */
	Buffer		overflow_buf;
	bool		has_rows;
	BlockNumber block;
	int			freed;			/* bytes of index space, bottom-up only */
	int			freed_before;	/* ... before the current table page */
	int			target;			/* ... that are enough, if the index has no stale entries */
	int			npages;			/* number of table pages visited */
	int64		misses;			/* zprefetch_misses() at the beginning */
	int			nstale;			/* number of deletable entries of live rows */
	TransactionId conflict;		/* newest xid that removed a row, or key, of these entries */
	bool		several_keys;	/* the index may have several entries of a row */
	bool		whole_leaf;		/* visit all entries */
	ZMarkedRow *const *rows;	/* of the entries, by id, if their keys were formed; or NULL */
	Buffer		leaf;			/* the index page, pinned once more; or invalid */
} ZIndexDelete;

/* ---- which entries, and which snapshots of standbys need them (index_stale.c) ---- */

/*
 * Return whether no version of the row that a snapshot may see has the entry's key (N4), though
 * the row is not dead to all.  If so, the newest transaction that replaced the key is noted in
 * del->conflict.
 *
 * The index page is locked exclusively, the row's page in share mode; the entry names a line
 * pointer in use.  ERROR (data_corrupted) as for any reading of undo.
 */
extern bool zindex_entry_is_stale(ZIndexDelete *del, const TM_IndexDelete *deltid);

/*
 * Note, in del->conflict, by which transaction the entry has lost the last version that needed it:
 * its row is dead to all, or "marked": a scan has found that, or that the entry is stale, and has
 * marked the entry as dead (N7).  Locks and errors as above.
 */
extern void zindex_note_last(ZIndexDelete *del, const TM_IndexDelete *deltid, bool marked);

#endif							/* ZHEAP_INDEX_DELETE_H */
