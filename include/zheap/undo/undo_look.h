/*
 * undo_look.h
 *		Read pages of the undo relation as they are, for inspection.
 */
#ifndef ZHEAP_UNDO_LOOK_H
#define ZHEAP_UNDO_LOOK_H

#include "storage/bufpage.h"

#include "zheap/undo/undo_ptr.h"

/*
 * Copy a page of the undo relation.  Returns false if there is no such block; *nblocks is the
 * end of the relation.  zundo_open() must have been called; no LWLock may be held.  ERROR as
 * ReadBuffer().
 */
extern bool zundo_look_page(BlockNumber block, Page copy, BlockNumber *nblocks);

typedef enum ZUndoPageKind
{
	ZUNDO_PAGE_NEW,				/* the page was never written */
	ZUNDO_PAGE_META,
	ZUNDO_PAGE_DIRECTORY,
	ZUNDO_PAGE_MAP,
	ZUNDO_PAGE_RECORDS			/* an undo page that agrees with its check; its records may not */
} ZUndoPageKind;

/*
 * Return the kind of the page.  ERROR (data_corrupted) if it is none of these, or if an undo
 * page does not agree with its check.  Only the magic number of the other kinds is checked.
 */
extern ZUndoPageKind zundo_look_kind(Page page, BlockNumber block);

typedef struct ZUndoLook
{
	ZUndoPtr	ptr;
	const char *bytes;			/* within the page; NULL: the record's length is wrong */
	Size		len;
	bool		sound;			/* the record agrees with its check */
} ZUndoLook;

/*
 * Fetch the next record of an undo page that zundo_look_kind() has accepted.  *offset is 0 at
 * first, and is advanced.  Returns false if there is no other record.  Behind a record with a
 * wrong length no other one is found.  Raises no error.
 */
extern bool zundo_look_record(Page page, BlockNumber block, uint16 *offset, ZUndoLook *look);

#endif							/* ZHEAP_UNDO_LOOK_H */
