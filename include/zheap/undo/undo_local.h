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
 * Undo of tables in local buffers is in this backend's memory.  zundo_reserve, zundo_write,
 * zundo_release, zundo_read and zundo_next work on it as well, but there is no buffer to
 * register in WAL, and zundo_open_for() is all the preparation needed.
 *
 * Return whether the pointer is one of local undo.
 */
extern bool zundo_ptr_is_local(ZUndoPtr ptr);

/*
 * Return the horizon of temporary tables: what older transactions have left on their pages is
 * visible to all.  While an earlier transaction is rolled back it is that transaction's xid;
 * otherwise our top xid, or PG_UINT64_MAX if we have none.
 */
extern FullTransactionId zundo_local_horizon(void);

/*
 * Return whether the snapshot sees all that this session's earlier transactions did to
 * temporary tables.  An imported snapshot may not.
 */
extern bool zundo_local_sees(Snapshot snapshot);

/*
 * Hook that rolls back aborted rows of temporary tables: those of an earlier transaction,
 * called by zundo_open_for(), and those of subtransactions, called before a commit.  Set once,
 * while the library loads.
 */
extern void (*zundo_local_hook) (void);

/*
 * True while an earlier transaction is rolled back.  zundo_local_owner() then returns its top
 * xid, and zundo_local_has_committed() whether it, or that subtransaction of it, committed.
 * All older xids on the pages are visible to all.  Neither the database's horizon nor the
 * commit log can be used: the horizon may have passed the transaction, and the commit log have
 * forgotten it.
 */
extern bool zundo_local_rolling_back;
extern FullTransactionId zundo_local_owner(void);
extern bool zundo_local_has_committed(FullTransactionId fxid);

/*
 * Return the first record whose change may still have to be rolled back, which is the first one
 * of its undo page; invalid if there is none.
 */
extern ZUndoPtr zundo_local_first(void);

/* Note that the changes of all undo pages before the one of "ptr" have been rolled back. */
extern void zundo_local_mark_applied(ZUndoPtr ptr);

/* A file that records are about, and the table that had it when they were written. */
typedef struct ZLocalFile
{
	RelFileLocator locator;
	Oid			relid;
	const struct TableAmRoutine *tableam;
} ZLocalFile;

/*
 * Return the file's entry, valid until another record is written or the undo is dropped.  ERROR
 * (internal_error) if no record is about the file.
 */
extern const ZLocalFile *zundo_local_file(RelFileLocator locator);

/*
 * To be called at XACT_EVENT_PRE_COMMIT: roll back what aborted subtransactions have left, if
 * that is little, or else remember which of them committed.  May raise any ERROR.
 */
extern void zundo_local_before_commit(void);

#endif							/* ZHEAP_UNDO_LOCAL_H */
