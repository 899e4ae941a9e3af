/*
 * clean.h
 *		Work that VACUUM would do, done by writers and by a worker.
 */
#ifndef ZHEAP_CLEAN_H
#define ZHEAP_CLEAN_H

#include "access/transam.h"
#include "utils/rel.h"

#include "zheap/notes/reap.h"

/*
 * By a writer, at the start of a write to the table (zreap_hook): work on what it has noted,
 * unless VACUUM or whatever else works on the table as a whole has it locked.
 */
extern void zclean_by_writer(Relation rel, ZReapNotes *notes);

/* A worker's visit to a database for marking pages, which takes a second or so. */
typedef struct ZMarkVisit
{
	bool		for_standby;	/* no snapshot of a standby must go for a mark */
	FullTransactionId seen;		/* all snapshots of this server see what older ones have done */
	bool		flushed;		/* that is on disk */
} ZMarkVisit;

/* The visit begins: in a transaction. */
extern void zclean_begin_marking(ZMarkVisit *visit);

/*
 * By a worker: mark some of the pages of this database all-visible that insertions have filled,
 * if all see them.  Returns whether there may be more.  In a transaction of its own, with undo
 * open.
 */
extern bool zclean_mark_filled(ZMarkVisit *visit);

/* By the launcher: databases with such pages, as many as there are but at most "max". */
extern int	zclean_databases_with_filled(Oid *dbs, int max);

#endif							/* ZHEAP_CLEAN_H */
