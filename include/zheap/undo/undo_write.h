/*
 * undo_write.h
 *		Append records to the log of this backend.
 */
#ifndef ZHEAP_UNDO_WRITE_H
#define ZHEAP_UNDO_WRITE_H

#include "access/xlogreader.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat.h"
#include "zheap/undo/undo_ptr.h"

typedef struct ZUndoWrite
{
	Buffer		buffer;			/* tail page, pinned and locked exclusively; or
								 * invalid: undo of a temporary table */
	ZUndoPtr	ptr;			/* where the record will be */
	uint16		offset;			/* the same, within the page */
	uint16		generation;
	bool		init;			/* the page is to be initialised */
	bool		omitted;		/* the WAL record does not name the page */
	uint32		log;			/* number of the log */
} ZUndoWrite;

/* A record's bytes. */
typedef struct ZUndoBytes
{
	const char *bytes;
	Size		len;
} ZUndoBytes;

/*
 * Attach to a log of this database and make sure that the transaction can
 * write undo; takes care of recycling and the horizon from time to time.  May
 * do I/O, take heavyweight locks, write WAL and ereport.  No buffer lock may be
 * held.  To be called once per statement or row operation before any page is
 * locked; cheap when there is nothing to do.
 */
extern void zundo_prepare(void);

/*
 * Room for a record of at most "size" bytes about a row of "rel".  The caller may
 * hold table pages (lock order L1: undo last).  On return the tail page is locked exclusively;
 * the caller then writes within its critical section, or gives up with
 * zundo_release.  Must not be called in a critical section.  ERROR if the undo
 * relation cannot grow.  When the extent is full a new one is opened here, with
 * a WAL record of its own.  One reservation at a time, and one record in it, or two.
 * zundo_prepare() must have been called in this transaction.
 */
extern void zundo_reserve(Relation rel, Size size, ZUndoWrite *write);

/*
 * Two records, so many bytes long at most: what to reserve for both; and, when the length of the
 * first is known, where the second will be.  They are written in this order.  If one WAL record
 * has both it registers the page for the first.
 */
extern Size zundo_size_of_two(Size first, Size second);
extern void zundo_place_second(const ZUndoWrite *first, Size len, ZUndoWrite *second);

/*
 * Append.  In the critical section; cannot fail.  "len" <= the reserved size.
 * Marks the buffer dirty.  The transaction must have its xid by now.  The caller then
 * writes a WAL record with log, offset, generation and init in its data, and calls
 * zundo_register() before XLogInsert() and zundo_logged() after it.
 */
extern void zundo_write(ZUndoWrite *write, const char *bytes, Size len);

/* ---- does WAL name the page?  (undo_reference.c) ---- */

/*
 * Register the page as block reference "block_id" of the WAL record that is being made,
 * unless "may_omit" and replay will know it from the log's number (W3).  A record that may
 * omit it names a block of the same database.
 */
extern void zundo_register(ZUndoWrite *write, uint8 block_id, bool may_omit);

/*
 * A record that changes a table page, or brings an image of one, has been inserted: other
 * backends, which see the page once it is unlocked, see that a checkpoint had begun.
 */
extern PGDLLEXPORT void zundo_note_redo(void);

/* The record has been inserted and ends at "lsn": give the page its LSN. */
extern void zundo_logged(ZUndoWrite *write, XLogRecPtr lsn);

/* In replay: the page that the log goes on with, from a record that names both. */
extern void zundo_replay_end_set(const RelFileLocator *locator, uint32 number, BlockNumber block);

/* False: no record has named it since replay began, or this process does not replay. */
extern bool zundo_replay_end(Oid dboid, uint32 number, RelFileLocator *locator,
							 BlockNumber *block);

/* Unlock; it may stay pinned. */
extern void zundo_release(ZUndoWrite *write);

/* What redo of an append goes by.  The page is a block reference, or the end of the log. */
typedef struct ZUndoAppend
{
	uint32		log;
	uint16		offset;
	uint16		generation;
	bool		init;
	bool		named;			/* by block reference "block_id" */
	uint8		block_id;
	RelFileLocator locator;
	BlockNumber block;
} ZUndoAppend;

/*
 * Redo of zundo_write, of all records that the WAL record has.  Call it before the table page
 * that points here is unlocked: readers of a standby follow the pointer at once.
 */
extern void zundo_redo_write(XLogReaderState *record, const ZUndoAppend *append,
							 const ZUndoBytes *records, int n);

#endif							/* ZHEAP_UNDO_WRITE_H */
