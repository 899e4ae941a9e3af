/*
 * rollback_sweep.h
 *		The sweep of one undo log: private to rollback_log.c, rollback_attempt.c and
 *		rollback_sweep.c.
 */
#ifndef ZHEAP_ROLLBACK_SWEEP_H
#define ZHEAP_ROLLBACK_SWEEP_H

#include "zheap/base/prefetch.h"
#include "zheap/mvcc/status.h"
#include "zheap/undo/undo_pending.h"
#include "zheap/undo/undo_read.h"

#include "rollback_private.h"

typedef struct Sweep
{
	int			log;
	ZUndoPtr	at;				/* the next record to read; invalid at the end of the log */

	/* context, set by the records */
	FullTransactionId fxid;
	RelFileLocator locator;
	BlockNumber block;

	ZUndoPtr	context;		/* the record that named both: a sweep may begin there */
	ZXactStatus	status;			/* of fxid */
	bool		page_done;		/* true if the page of this run of records is done */
	ZPrefetch	prefetch;		/* of pages that the following records name */
	ZUndoPtr	asked;			/* last record whose page has been prefetched */

	bool		own_transactions;	/* true in a worker, which makes way for other sessions */
	RelFileLocator files_of;		/* the file that the record names, for which files[] was set */
	bool		files_known;
	int			nfiles;			/* number of files that may have the page: */
	RelFileLocator files[ZROLLBACK_MAX_FILES];
	ZTableState states[ZROLLBACK_MAX_FILES];	/* ZTABLE_OPEN: not tried yet, or it was open */
	int			file;			/* the file being rolled back: */
	Relation	rel;			/* its table, or NULL if not open */
	Oid			rel_oid;
	NameData	rel_name;

	uint32		passed;			/* extents read to their end since the sweep began */
	uint32		context_passed;	/* of these, up to the context */

	ZUndoSwept	swept;			/* upto: the first record that could not be applied, or its
								 * context */
	FullTransactionId last;		/* the transaction of the last such record */
	bool		active;			/* the following records are of the log owner's transaction */
	bool		locked;			/* true if records were left because their table was locked */
	bool		failed;			/* true if records were left because of an error */
	Oid			left_relid;		/* the table of the first such record, or invalid */
	Oid			reported;		/* table whose errors have been reported */
	bool		rolling_back;	/* true while a page is rolled back: an error is about the page
								 * or its table */
	bool		damaged;		/* true if some undo cannot be read */
	bool		jump;			/* go on behind this undo page: */
	BlockNumber jump_block;
	uint16		jump_generation;
	ZUndoPtr	skip;			/* the record whose page failed last; */
	int			skip_files;		/* its first skip_files files are done */
	uint64		pages;
	MemoryContext scratch;		/* memory for one page */
} Sweep;

/* ---- reading (rollback_log.c) ---- */

/*
 * Read one log from sweep->at on.  Stop after 10,000 pages rolled back, or when a worker has to
 * leave, or another backend waits for the undo relation.  sweep->at is then the next record to
 * read, invalid at the end of the log.  Leaves tables open and their files locked.  Errors: of
 * pages and their tables while sweep->rolling_back, else ERROR (data_corrupted) or the server's
 * if undo cannot be read.
 */
extern void zsweep_read(Sweep *sweep, ZUndoReader *reader);

/*
 * Leave the record for a later sweep: note it, or its context, if it is the first, and its xid
 * if that is the oldest (R6).
 */
extern void zsweep_leave_record(Sweep *sweep);

/* Forget the tables: those of the next record are searched for anew. */
extern void zsweep_leave_files(Sweep *sweep);

/* ---- attempts (rollback_attempt.c) ---- */

/*
 * Like zsweep_read, in a subtransaction for many pages; in a new one after an error, which is
 * reported.  The undo relation is locked, ShareUpdateExclusive; no table's file is on exit.
 * Raises errors that say nothing about the undo, such as a lack of memory, and cancellations.
 */
extern void zsweep_attempt(Sweep *sweep);

/* Note that some of the log's undo is unknown, from here on or from an earlier place. */
extern void zsweep_note_damage(Sweep *sweep, ZUndoPtr from, uint32 extents);

#endif							/* ZHEAP_ROLLBACK_SWEEP_H */
