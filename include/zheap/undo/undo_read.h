/*
 * undo_read.h
 *		Read records by their pointers, or in the order of a log.
 */
#ifndef ZHEAP_UNDO_READ_H
#define ZHEAP_UNDO_READ_H

#include "utils/palloc.h"

#include "zheap/undo/undo_ptr.h"

/*
 * A reader keeps what makes a walk cheap: where the page last read was in the
 * buffer pool and, once a second record of the same page is wanted, a private
 * copy of the page.  There are two, as what was written about one table page may
 * begin on one undo page and end on the next, and the next table page's undo
 * follows it.  It holds no pin between calls.
 */
typedef struct ZUndoCopy
{
	PGAlignedBlock *page;		/* allocated on demand */
	BlockNumber block;			/* invalid: none yet */
	uint16		generation;
} ZUndoCopy;

typedef struct ZUndoReader
{
	BlockNumber block;			/* of the last record that was not from a copy */
	ZUndoCopy	copies[2];
	int			used;			/* the copy used last */
	char	   *bytes;			/* the last record that was not from a copy: */
	ZUndoPtr	bytes_ptr;		/* where it is, or invalid */
	Size		bytes_len;
	Size		bytes_size;		/* allocated */
	MemoryContext context;
	bool		local;			/* follows pointers of temporary tables, and else of others */
} ZUndoReader;

/* Memory comes from "context" and is freed by zundo_reader_close. */
extern void zundo_reader_open(ZUndoReader *reader, MemoryContext context, bool local);
extern void zundo_reader_close(ZUndoReader *reader);

/*
 * The record's bytes, valid until the next call on this reader.  NULL if it has
 * been recycled (its transaction is then below the horizon, or the record
 * belonged to a rolled back transaction).  ERROR (data corrupted) if the pointer
 * or the page makes no sense.  The caller may hold table pages.
 */
extern const char *zundo_read(ZUndoReader *reader, ZUndoPtr ptr, Size *len);

/*
 * The record after "ptr" in its log, for sweeps: invalid at the end of the log.
 * *new_page tells that it is the first of its page (writers give their context
 * in full there).  Takes care of extents.  Also invalid if "ptr" has been
 * recycled, which does not happen to a sweeper at work on pending records.
 */
extern ZUndoPtr zundo_next(ZUndoReader *reader, ZUndoPtr ptr, bool *new_page);

/*
 * The record after "ptr" on its page, as the reader has read that; invalid if there is none, or
 * the reader does not have the page.  Reads nothing.
 */
extern ZUndoPtr zundo_next_read(ZUndoReader *reader, ZUndoPtr ptr);

/*
 * For sweeps that meet a page that cannot be read: the first record behind page *block of
 * this generation, which goes along, so that after one more error the next call goes on
 * behind that page.  Invalid at the end of the log.  An extent whose first page
 * cannot be read is the end, too: then it fails at the extent's last page.
 */
extern ZUndoPtr zundo_skip_page(ZUndoReader *reader, BlockNumber *block, uint16 generation);
extern bool zundo_is_last_of_extent(BlockNumber block);

#endif							/* ZHEAP_UNDO_READ_H */
