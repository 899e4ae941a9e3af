/*
 * mvcc_known.h
 *		The directories that the backend remembers: private to mvcc_known.c and mvcc_find.c.
 */
#ifndef ZHEAP_MVCC_KNOWN_H
#define ZHEAP_MVCC_KNOWN_H

#include "zheap/record/record.h"

#include "mvcc_directory.h"

typedef struct CachedDirectory
{
	ZDirectory	dir;
	/* commands of the rows' newest records; InvalidCommandId until they have been read */
	CommandId	cids[ZPAGE_MAX_OFFSET + 1];
	/* first row if the newest record is a run of deletions, which may go on; or invalid */
	OffsetNumber run_first;
} CachedDirectory;

/*
 * Return the directory if there is one, or if the chain has an entry, because the backend has
 * gone down a long way from this newest record before; else NULL.  NULL also if the view's limit
 * was reached.  Belongs to the cache, and is valid until the next call of a function of
 * mvcc_known.c.  May read undo; ERROR (data_corrupted) if that cannot be read.
 */
extern CachedDirectory *known_directory(ZPageView *view, int slotno, const ZOwner *newest);

/* Note that the chain was gone down a long way: its directory is remembered the next time. */
extern void known_note_long_way(ZPageView *view, int slotno, const ZOwner *newest);

/*
 * Note that the backend has added the record, at "at": update the chain's directory, if there
 * is one.  Reads no undo; raises no error.
 */
extern void known_added(ZPageView *view, const ZUndoRecord *rec, const ZOwner *at);

#endif							/* ZHEAP_MVCC_KNOWN_H */
