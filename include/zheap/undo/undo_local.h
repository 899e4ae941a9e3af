/*
 * undo_local.h
 *		Undo of temporary tables.
 */
#ifndef ZHEAP_UNDO_LOCAL_H
#define ZHEAP_UNDO_LOCAL_H

#include "access/transam.h"
#include "zheap/base/pg_compat.h"
#include "utils/snapshot.h"

#include "zheap/undo/undo_ptr.h"

/*
 * Undo of a table in local buffers stays in this backend's memory; zundo_reserve,
 * zundo_write, zundo_release, zundo_read and zundo_next work on it all the same,
 * but there is no buffer to be registered in WAL, and zundo_open_for() is all the
 * preparation it needs.
 */
extern bool zundo_ptr_is_local(ZUndoPtr ptr);

/*
 * What zundo_horizon() and zundo_logged_horizon() are for other tables: older
 * transactions have left nothing on pages of temporary tables but what is
 * visible to all.
 */
extern FullTransactionId zundo_local_horizon(void);

/*
 * Does the snapshot see all that this session's earlier transactions did to
 * temporary tables?  An imported one may not.
 */
extern bool zundo_local_sees(Snapshot snapshot);

/*
 * Called by zundo_open_for() when an earlier transaction has left aborted rows in
 * temporary tables, and before a commit when subtransactions have: rolls
 * them back.  Set once while the library loads.
 */
extern void (*zundo_local_hook) (void);

/*
 * Being in that first case.  The top xid of the transaction concerned, and
 * which of its subtransactions committed, itself included: nothing older on the pages
 * is in question, and neither the database's horizon, which may have passed it, nor the
 * commit log, which may have forgotten it, says anything.
 */
extern bool zundo_local_rolling_back;
extern FullTransactionId zundo_local_owner(void);
extern bool zundo_local_has_committed(FullTransactionId fxid);

/*
 * The first record whose change may still have to be rolled back (invalid: there is
 * none), the first one of its undo page.
 */
extern ZUndoPtr zundo_local_first(void);

/* What the undo pages before the one of "ptr" tell of has been rolled back. */
extern void zundo_local_mark_applied(ZUndoPtr ptr);

/* A file that records are about, and the table that had it then. */
typedef struct ZLocalFile
{
	RelFileLocator locator;
	Oid			relid;
	const struct TableAmRoutine *tableam;
} ZLocalFile;

extern const ZLocalFile *zundo_local_file(RelFileLocator locator);

/* To be called at XACT_EVENT_PRE_COMMIT. */
extern void zundo_local_before_commit(void);

#endif							/* ZHEAP_UNDO_LOCAL_H */
