/*
 * undo_am.h
 *		Interface of the undo relation's access method (am_undo.c) to the undo layer.
 */
#ifndef ZHEAP_UNDO_AM_H
#define ZHEAP_UNDO_AM_H

#include "access/tableam.h"

#include "zheap/base/pg_compat.h"

/* Return the routines of the access method zheap_undo.  Static data. */
extern const TableAmRoutine *zundo_am_routine(void);

/*
 * Hook of VACUUM of the undo relation, called before the horizon is advanced: roll back what
 * aborted transactions have left.  Set once, while the library loads.
 */
extern void (*zundo_vacuum_hook) (void);

/*
 * Remember the horizon of the undo relation, which this transaction is about to drop and has
 * locked with AccessExclusiveLock; forget it at the end of the transaction.  Reads the meta
 * page; a damaged one counts as the oldest horizon.  See H4.
 */
extern void zundo_note_dropped(Oid relid);
extern void zundo_forget_dropped(void);

/*
 * Write the first pages (meta, directory, map) of a new, empty relation file, WAL-logged.  The
 * caller's transaction has made the file: no other backend uses it.  ERROR as for any extension
 * of a file.
 */
extern void zundo_storage_create(RelFileLocator locator);

/*
 * Note that this transaction has exchanged the relation's file for a copy.  Until it ends, or
 * until that is rolled back, this backend may read undo, but zundo_prepare() raises an ERROR
 * (object_not_in_prerequisite_state).
 */
extern void zundo_moved(void);

/*
 * Wait until no other transaction uses the undo relation; none will until this one has ended.
 * The caller has locked it with AccessExclusiveLock, and holds no buffer lock and no LWLock.
 * A prepared transaction is no user, but holds a lock that is waited for, too, if it has
 * written undo.  ERROR (query_canceled, deadlock_detected) as for any heavyweight lock.
 */
extern void zundo_wait_for_users(Oid relid);

/*
 * Copy all pages as they are, WAL-logged.  Both relations are locked with AccessExclusiveLock,
 * and zundo_wait_for_users() has been called.  ERROR (query_canceled), or as for any I/O.
 */
extern void zundo_storage_copy(Relation from, Relation to);

#endif							/* ZHEAP_UNDO_AM_H */
