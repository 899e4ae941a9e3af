/*
 * update_phases.h
 *		Private to dml: the state of an UPDATE, and its phases that move the row.
 *
 * README.md shows which phase follows which.  Each phase's function returns the next one.  Its
 * comment says whether the old row's page is locked on entry and on exit; on the way it may be
 * unlocked, and errors are those of changing pages and undo (target.h).
 */
#ifndef ZHEAP_DML_UPDATE_PHASES_H
#define ZHEAP_DML_UPDATE_PHASES_H

#include "zheap/dml/logical.h"
#include "zheap/dml/update.h"

typedef enum Phase
{
	CHECK,						/* check the row, choose the way */
	LOCK_OLD,					/* take a row lock, so that the page can be unlocked */
	COMPARE,					/* compare keys, where functions have to tell */
	TOAST,						/* move long values of the new row to the toast table */
	IN_PLACE,					/* put the new version in the old one's place */
	MOVE,						/* let the new row name origins, choose its page */
	FIND_PAGE,					/* find another page with room, so that both can be locked */
	MOVE_AT_ONCE,				/* change both rows in one step, on one page or on two */
	INSERT_ELSEWHERE,			/* insert the new row on any page that has room */
	DELETE_OLD,					/* mark the old row deleted, with its new place */
	DONE,
	REFUSED						/* not updated: the check's result says why */
} Phase;

typedef struct Update
{
	Relation	rel;
	TupleTableSlot *slot;
	ZCheckQuery query;			/* its mode is the row lock that the update needs */
	bool		wait;
	ZRowQueue	queue;
	ZTarget		target;
	ZTarget		new;			/* where the row may be moved, if its page is pinned; open if
								 * has_new */
	ZTarget    *place;			/* of MOVE_AT_ONCE: target or new */
	ZUpdateCheck check;			/* of the last CHECK */
	const ZTableIndexes *indexes;

	ZOrigins	origins;		/* zeroed by update_open(), like all that follows */

	ZColumnChanges changes;		/* of the last CHECK */
	ZComparison comparison;		/* of the last COMPARE */
	ZFormedRow	row;			/* the new one */
	ZLogical	logical;		/* the version before is added by CHECK, or by TOAST */
	int			done;			/* phases that have been run: a bit each */
	MemoryContext scratch;		/* of COMPARE; or NULL */
	bool		has_new;
	bool		locked;			/* LOCK_OLD is done: a row lock of ours keeps all others out,
								 * except KEY SHARE if the key stays */
	bool		has_mode;		/* query.mode takes into account whether the key changes, or
								 * that is not to be known */
	bool		made_room;		/* all space of the page that can be freed has been */
	ItemPointerData new_tid;
	ZTableCounter way;			/* the row stays, or why it is moved or about to be moved */
	bool		had_several_keys;	/* in place: it had the mark before the update */
	HeapTuple	old;			/* in place: the version before, if changes.keeps_entries; or
								 * NULL */
	bool		has_drawn;		/* moves_by_chance() has drawn this */
	bool		moves_by_chance;

	bool		was_locked;		/* our transaction had locked the row before */
	bool		key_locked;		/* our lock is FOR UPDATE: then KEY SHARE conflicts with the
								 * update, as on heap, even if the key stays */
	int			ordinal;		/* in place, for AFTER ROW triggers, which need both versions:
								 * ordinal number of the old one */
} Update;

#define TO(phase)	(1 << (phase))

/* Return whether the update has been in this phase. */
static inline bool
zupdate_has_run(const Update *update, Phase phase)
{
	return (update->done & TO(phase)) != 0;
}

/* Require the strongest mode.  Leave the queue, which is for a weaker one. */
static inline void
zupdate_raise_mode(Update *update)
{
	zlock_queue_leave(&update->queue);
	update->query.mode = update->queue.mode = LockTupleExclusive;
}

/*
 * Check the row again for an update that excludes all locks of others.  A row lock that we have
 * is too weak.
 */
static inline Phase
zupdate_exclude_all(Update *update)
{
	Assert(update->query.mode != LockTupleExclusive);
	zupdate_raise_mode(update);
	update->locked = false;
	return CHECK;
}

/* ---- dml_update_compare.c ---- */

/*
 * Return whether the comparison is of this version, whose page is locked, so that its results
 * still count.
 */
extern bool zcomparison_holds(const Update *update, const ZRowVersion *old);

/*
 * COMPARE: find out what the update does to the keys in changes.unknown.  Locked on entry,
 * unlocked on exit.  Errors are those of the index's functions.
 */
extern Phase zupdate_compare(Update *update);

/* ---- dml_update_move.c ---- */

/* MOVE.  Locked on entry; on exit locked, or unlocked: CHECK. */
extern Phase zupdate_move(Update *update);

/*
 * MOVE_AT_ONCE: move the row in one step, to "place".  Locked on entry; on exit locked, or
 * unlocked: CHECK.  The page has been locked since the check, so no transaction can have locked
 * the row, not even FOR KEY SHARE.
 */
extern Phase zupdate_move_at_once(Update *update);

/*
 * FIND_PAGE.  Locked on entry, unlocked on exit.  Done once per update, so that repeating ends.
 * A page that is not initialised yet is not used, nor one that turns out to be the row's own:
 * then the next MOVE will find that there is room.
 */
extern Phase zupdate_find_page(Update *update);

/* INSERT_ELSEWHERE.  Locked on entry, unlocked on exit. */
extern Phase zupdate_insert_elsewhere(Update *update);

/*
 * DELETE_OLD.  Unlocked on entry; on exit locked, or unlocked: CHECK or DELETE_OLD.  The new row
 * exists; no other transaction can have changed the old one, except by a KEY SHARE lock.
 */
extern Phase zupdate_delete_old(Update *update);

#endif							/* ZHEAP_DML_UPDATE_PHASES_H */
