/*
 * undo_write.h
 *		Append records to the log of this backend.
 *
 * Order of calls: zundo_prepare(), then, with table pages locked, zundo_reserve(), and in a
 * critical section zundo_write(), zundo_name(), zundo_register(), XLogInsert() and
 * zundo_logged(); at last zundo_release().
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
	bool		init;			/* zundo_write() is to initialise the page */
	bool		omitted;		/* the WAL record does not name the place, but for the log */
	uint32		log;			/* number of the log */
} ZUndoWrite;

/* A record's bytes. */
typedef struct ZUndoBytes
{
	const char *bytes;
	Size		len;
} ZUndoBytes;

/*
 * Attach to a log of this database, and make sure that the transaction can write undo; from
 * time to time move the horizon and free extents.  Call it once per statement or row operation,
 * before any page is locked; cheap when there is nothing to do.  No buffer lock and no LWLock
 * may be held.  May do I/O, wait for heavyweight locks and write WAL.
 *
 * ERROR as zundo_open(); (read_only_sql_transaction) in recovery;
 * (object_not_in_prerequisite_state) if the transaction has moved the undo relation or given up
 * undo; (configuration_limit_exceeded) at zheap.undo_max_size; (out_of_memory,
 * program_limit_exceeded) if there is no room for another log, or the relation has its greatest
 * size; (data_corrupted) if the meta or directory page is damaged.
 */
extern void zundo_prepare(void);

/*
 * Reserve room for a record of at most "size" bytes about a row of "rel", or for two
 * (zundo_size_of_two).  zundo_prepare() must have been called in this transaction, and no other
 * reservation be open.  The caller may hold locks of table pages (L1: undo comes last), and is
 * not in a critical section.  On return the tail page is locked exclusively (none for a
 * temporary table), until zundo_release().  If the extent is full a new one is opened, with a
 * WAL record of its own.
 *
 * ERROR (configuration_limit_exceeded) at zheap.undo_max_size or zheap.temp_undo_max_size,
 * (data_corrupted) if the page is not as this backend has left it, or as for any extension of a
 * file.
 */
extern void zundo_reserve(Relation rel, Size size, ZUndoWrite *write);

/*
 * Place two records in one reservation.  zundo_size_of_two() returns the size to reserve for
 * records of at most these lengths.  zundo_place_second() sets where the second record will be,
 * once the length of the first is known.  They are written in this order.  If one WAL record
 * has both, the page is registered for the first.
 */
extern Size zundo_size_of_two(Size first, Size second);
extern void zundo_place_second(const ZUndoWrite *first, Size len, ZUndoWrite *second);

/*
 * Append the record, in the critical section; raises no error.  "len" is at most the reserved
 * size.  The transaction must have its xid by now.  Marks the buffer dirty.  The caller then
 * calls zundo_name(), writes a WAL record with log and init in its data, and, unless "omitted"
 * is set, offset and generation; it calls zundo_register() before XLogInsert() and
 * zundo_logged() after it.
 */
extern void zundo_write(ZUndoWrite *write, const char *bytes, Size len);

/* ---- does WAL name the place?  (undo_reference.c) ---- */

/*
 * Decide whether the WAL record that is going to be made names page, offset and generation:
 * "omitted" is set if "may_omit" is set and replay will know them from the log's number (W3).  A
 * record that may omit them names a block of the same database.  In the critical section; raises
 * no error.
 */
extern void zundo_name(ZUndoWrite *write, bool may_omit);

/*
 * Register the page as block reference "block_id" of the WAL record that is being made, unless
 * it is omitted.  After zundo_name(), in the critical section; raises no error.
 */
extern void zundo_register(ZUndoWrite *write, uint8 block_id);

/*
 * Publish the redo pointer of the last XLogInsert(), which inserted a record that changes a
 * table page, or has an image of one: other backends that see the page once it is unlocked also
 * see that a checkpoint had begun.  Takes no lock, raises no error.
 */
extern PGDLLEXPORT void zundo_note_redo(void);

/* Set the page's LSN after XLogInsert(), in the critical section; raises no error. */
extern void zundo_logged(ZUndoWrite *write, XLogRecPtr lsn);

/*
 * Unlock the page, after zundo_logged() or without a record.  It may stay pinned.  Raises no
 * error.
 */
extern void zundo_release(ZUndoWrite *write);

/*
 * An append as replay has it.  The page is a block reference of the record, or the end of the
 * log.
 */
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
 * Remember, in replay, where the log of "end" goes on: all of its fields but "init", "named" and
 * "block_id" count.  ERROR (out_of_memory).
 */
extern void zundo_replay_end_set(const ZUndoAppend *end);

/*
 * Set these fields to where the log "end->log" of the database goes on.  Returns false if no
 * record has named it since replay began, or this process does not replay; then they are left
 * alone.  Raises no error.
 */
extern bool zundo_replay_end(Oid dboid, ZUndoAppend *end);

/*
 * Redo zundo_write() for the "n" undo records of the WAL record.  Call it before the table page
 * that points to them is unlocked: readers of a standby follow the pointer at once.  Locks the
 * page exclusively, and unlocks it.  PANIC if the page does not end where the record is to go.
 */
extern void zundo_redo_write(XLogReaderState *record, const ZUndoAppend *append,
							 const ZUndoBytes *records, int n);

#endif							/* ZHEAP_UNDO_WRITE_H */
