/*
 * undo_wal.h
 *		WAL records of the undo relation:
 *		opcodes 0xB0 to 0xF0 of the library's resource manager.
 */
#ifndef ZHEAP_UNDO_WAL_H
#define ZHEAP_UNDO_WAL_H

#include "access/xlogreader.h"
#include "lib/stringinfo.h"

#include "zheap/base/base.h"

#define ZREC_UNDO_TRUNCATE	0xB0	/* free extents at the end are gone */
#define ZREC_UNDO_EXTENT	0xC0	/* a log opens an extent */
#define ZREC_UNDO_FREE		0xD0	/* a log gives an extent away */
#define ZREC_UNDO_HORIZON	0xE0	/* the horizon moved */
#define ZREC_UNDO_INIT		0xF0	/* meta and directory pages made */

/*
 * Replay and describe the records.  Replay locks the record's pages exclusively, one at a time,
 * and the map and truncate LWLocks; on a standby it first waits for, or cancels, conflicting
 * snapshots.
 */
extern void zundo_truncate_redo(XLogReaderState *record);
extern void zundo_extent_redo(XLogReaderState *record);
extern void zundo_free_redo(XLogReaderState *record);
extern void zundo_horizon_redo(XLogReaderState *record);
extern void zundo_init_redo(XLogReaderState *record);
extern void zundo_truncate_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_extent_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_free_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_horizon_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_init_desc(StringInfo buf, XLogReaderState *record);
/*
 * Mask a page of the undo relation for wal_consistency_checking.  zundo_is_undo_page() returns
 * whether the page has one of our magic numbers.
 */
extern void zundo_mask(char *page, BlockNumber block);
extern bool zundo_is_undo_page(const char *page);

#endif							/* ZHEAP_UNDO_WAL_H */
