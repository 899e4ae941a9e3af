/*
 * undo_am.h
 *		The undo relation as the server's commands see it (am_undo.c).
 */
#ifndef ZHEAP_UNDO_AM_H
#define ZHEAP_UNDO_AM_H

#include "access/tableam.h"

#include "zheap/base/pg_compat.h"

extern const TableAmRoutine *zundo_am_routine(void);

/*
 * Called when the undo relation is vacuumed, before its horizon is advanced:
 * applies what rolled back transactions left.  Set once while the library
 * loads.
 */
extern void (*zundo_vacuum_hook) (void);

/* What the access method needs of the undo layer (undo_relation.c). */

/*
 * The relation is about to be dropped by this transaction, which has locked it exclusively:
 * remember its horizon; and forget that at the end of the transaction.
 */
extern void zundo_note_dropped(Oid relid);
extern void zundo_forget_dropped(void);

/* Make a new relation file: meta and directory pages, WAL-logged. */
extern void zundo_storage_create(RelFileLocator locator);

/*
 * The relation's file has just been exchanged for a copy: until the end of the
 * transaction, or its being rolled back, this backend may read there, but not write.
 */
extern void zundo_moved(void);

/*
 * Wait until no other transaction uses the undo relation; none will until this one has ended.
 * The caller has locked it with AccessExclusiveLock, and no buffer.  ERROR if it is cancelled.
 * A prepared transaction does not use it, but has it locked if it has written there.
 */
extern void zundo_wait_for_users(Oid relid);

/* Copy all pages as they are; nobody else uses either relation. */
extern void zundo_storage_copy(Relation from, Relation to);

#endif							/* ZHEAP_UNDO_AM_H */
