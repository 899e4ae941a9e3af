/*
 * redo.h
 *		A page in replay: from its block reference to its LSN.
 */
#ifndef ZHEAP_REDO_H
#define ZHEAP_REDO_H

#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"

#include "zheap/base/base.h"

/*
 * Return the record's page, locked exclusively, or NULL if it needs no redo.  zredo_done()
 * releases *buffer in either case.
 */
static inline Page
zredo_page(XLogReaderState *record, uint8 block_id, Buffer *buffer)
{
	if (XLogReadBufferForRedo(record, block_id, buffer) != BLK_NEEDS_REDO)
		return NULL;
	return BufferGetPage(*buffer);
}

/* Likewise, for a page that is to be initialised, whatever it contains. */
static inline Page
zredo_new_page(XLogReaderState *record, uint8 block_id, Buffer *buffer)
{
	*buffer = XLogInitBufferForRedo(record, block_id);
	return BufferGetPage(*buffer);
}

/*
 * Likewise, for a page of the visibility map: if the map was truncated later it is made anew
 * here, and truncated again.
 */
static inline Page
zredo_map_page(XLogReaderState *record, uint8 block_id, Buffer *buffer)
{
	if (XLogReadBufferForRedoExtended(record, block_id, RBM_ZERO_ON_ERROR, false,
									  buffer) != BLK_NEEDS_REDO)
		return NULL;
	return BufferGetPage(*buffer);
}

/* Set the LSN of the page, unless it is NULL; unlock and unpin the buffer, if it is valid. */
static inline void
zredo_done(XLogReaderState *record, Page page, Buffer buffer)
{
	if (page != NULL)
	{
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buffer);
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

#endif							/* ZHEAP_REDO_H */
