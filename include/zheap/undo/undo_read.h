/*
 * undo_read.h
 *		Read records by their pointers, or in the order of their log.
 */
#ifndef ZHEAP_UNDO_READ_H
#define ZHEAP_UNDO_READ_H

#include "utils/palloc.h"

#include "zheap/undo/undo_ptr.h"

/*
 * A reader remembers what makes a walk cheap: the block of the last record and, once a second
 * record in a row of the same page is wanted, a private copy of the page.  There are two
 * copies, as the undo of one table page may begin on one undo page and end on the next, and the
 * undo of the next table page follows it.  A reader holds no pin between calls.
 */
typedef struct ZUndoCopy
{
	PGAlignedBlock *page;		/* allocated on demand */
	uint64		place;			/* zundo_ptr_page() of its records; ZUNDO_NO_PAGE: none yet */
} ZUndoCopy;

typedef struct ZUndoReader
{
	BlockNumber block;			/* block of the last record that was read from the buffer pool */
	ZUndoCopy	copies[2];		/* the first one was used last */
	char	   *bytes;			/* the last record that was read from the buffer pool: */
	ZUndoPtr	bytes_ptr;		/* where it is, or invalid */
	Size		bytes_len;
	Size		bytes_size;		/* allocated */
	MemoryContext context;
	bool		local;			/* true: reads undo of temporary tables; false: of all other
								 * tables */
} ZUndoReader;

/*
 * Open and close a reader.  Its memory is allocated in "context", and freed by
 * zundo_reader_close().  "local": for a temporary table.  Take no locks, raise no errors.
 */
extern void zundo_reader_open(ZUndoReader *reader, MemoryContext context, bool local);
extern void zundo_reader_close(ZUndoReader *reader);

/*
 * Return the record's bytes, valid until the next call on this reader; *len is their length.
 * Returns NULL if the record has been recycled: its transaction is below the horizon, or it
 * belonged to a transaction that was rolled back.  The caller may hold locks of table pages; no
 * lock is held on return.  ERROR (data_corrupted) if the pointer, the page or the record is
 * damaged; of a temporary table ERROR (internal_error).
 */
extern const char *zundo_read(ZUndoReader *reader, ZUndoPtr ptr, Size *len);

/*
 * Do the same if the copy that was used last has the record.  Otherwise return NULL, with no
 * error: then zundo_read() is to be called.  For a pass over many records of one undo page.
 */
extern const char *zundo_read_copied(const ZUndoReader *reader, ZUndoPtr ptr, Size *len);

/*
 * Return the record after "ptr" in its log, for sweeps: invalid at the end of the log, or if
 * "ptr" has been recycled (which does not happen to pending records).  *new_page is set if it
 * is the first record of its page: there writers give their context in full.  Follows the log
 * from extent to extent.  Locks and errors as for zundo_read(); ERROR (data_corrupted) also if
 * a page of the log is lost.
 */
extern ZUndoPtr zundo_next(ZUndoReader *reader, ZUndoPtr ptr, bool *new_page);

/*
 * Return the record after "ptr" on its page; invalid if there is none, or the reader has no
 * copy of the page.  Reads nothing from the buffer pool; raises no error.
 */
extern ZUndoPtr zundo_next_read(ZUndoReader *reader, ZUndoPtr ptr);

/*
 * Return the first record behind page *block of this generation, for sweeps that meet a page
 * that cannot be read; invalid at the end of the log.  *block is advanced, so that after
 * another error the next call goes on behind that page.  If an extent's first page cannot be
 * read the log ends there: then the call fails at the extent's last page.  Locks and errors as
 * for zundo_next().
 *
 * zundo_is_last_of_extent() returns whether the block is the last one of its extent.
 */
extern ZUndoPtr zundo_skip_page(ZUndoReader *reader, BlockNumber *block, uint16 generation);
extern bool zundo_is_last_of_extent(BlockNumber block);

#endif							/* ZHEAP_UNDO_READ_H */
