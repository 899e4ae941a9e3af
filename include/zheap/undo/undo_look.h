/*
 * undo_look.h
 *		Look at pages of the undo relation as they are.
 */
#ifndef ZHEAP_UNDO_LOOK_H
#define ZHEAP_UNDO_LOOK_H

#include "storage/bufpage.h"

#include "zheap/undo/undo_ptr.h"

/*
 * Copy any page of the undo relation; false: that has only *nblocks blocks.  zundo_open() must
 * have been called.  ERROR if the page cannot be read.
 */
extern bool zundo_look_page(BlockNumber block, Page copy, BlockNumber *nblocks);

typedef enum ZUndoPageKind
{
	ZUNDO_PAGE_NEW,				/* never written */
	ZUNDO_PAGE_META,
	ZUNDO_PAGE_DIRECTORY,
	ZUNDO_PAGE_MAP,
	ZUNDO_PAGE_RECORDS			/* sound, but for its records */
} ZUndoPageKind;

/* ERROR (data corrupted) if it is none of them, or should have records and is damaged. */
extern ZUndoPageKind zundo_look_kind(Page page, BlockNumber block);

typedef struct ZUndoLook
{
	ZUndoPtr	ptr;
	const char *bytes;			/* on the page; NULL: its length cannot be right */
	Size		len;
	bool		sound;			/* it agrees with its check */
} ZUndoLook;

/* The next record of such a page, from *offset on, which is 0 at first; false: there is none. */
extern bool zundo_look_record(Page page, BlockNumber block, uint16 *offset, ZUndoLook *look);

#endif							/* ZHEAP_UNDO_LOOK_H */
