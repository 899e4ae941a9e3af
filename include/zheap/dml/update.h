/*
 * update.h
 *		Declarations shared by the files of UPDATE; its phases are drawn in src/dml/README.md.
 */
#ifndef ZHEAP_UPDATE_H
#define ZHEAP_UPDATE_H

#include "zheap/base/stats.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/target.h"

/* ---- dml_update_columns.c ---- */

/* What the update changes, as far as indexes are concerned. */
typedef struct ZColumnChanges
{
	bool		key;			/* a column that foreign keys may refer to */
	bool		identity;		/* a column of the replica identity's key */
	ZTableCounter way;			/* as far as indexes are concerned: the row stays, with or
								 * without new index entries, or why it moves */
	Bitmapset  *indexes;		/* if it stays: the indexes that get an entry, by their numbers;
								 * in the current memory context */
} ZColumnChanges;

/*
 * Compare the new row with the old version.  The row may be on a locked page: no lock is taken,
 * and no function of a type is called.  The caller frees changes->indexes.  ERROR
 * (data_corrupted) if a row cannot be read.
 */
extern void zcolumns_changed(const ZTableIndexes *indexes, Relation rel, const ZRowVersion *old,
							 const char *row, uint32 len, ZColumnChanges *changes);

/* ---- dml_update_entries.c ---- */

/*
 * Insert the index entries for the new values of a row that was changed in place, which are in
 * the slot, into the indexes in "which".  "had_several_keys": the entry may exist from before.
 * No page is locked.  Errors are those of the index, as when a row is inserted; ERROR
 * (data_corrupted) if an entry is marked as dead.
 */
extern void zentries_insert(Relation rel, const ZTableIndexes *indexes, const Bitmapset *which,
							TupleTableSlot *slot, bool had_several_keys);

/* ---- dml_update_origins.c ---- */

/*
 * The places where a row that moves may have left KEY SHARE locks behind, which its new version
 * names (ZROW_ORIGIN).
 */
typedef struct ZOrigins
{
	bool		named;			/* the new row names the TID that it had */
	bool		must_name;		/* it must do so: a lock was taken while it was being made */
	bool		known;			/* "ended" has been filled in */
	int			nended;
	ItemPointerData ended[ZROW_MAX_ORIGINS];	/* places where no lock is held any more */
} ZOrigins;

/*
 * Return whether another transaction may hold a lock on the locked page's row: a KEY SHARE lock,
 * since the caller has excluded the others by NO KEY UPDATE.  True also if it would take too
 * long to find out.
 */
extern bool zorigins_row_may_be_held(ZTarget *target);

/*
 * Let the new row name the places where other transactions may have KEY SHARE locks.  DONE;
 * AGAIN: the page is unlocked; NO_ROOM: there are too many places, or the row is too long to
 * name them.  The page is still locked then, and the update must wait until no lock is held.
 */
extern ZStep zorigins_name(ZTarget *target, ZOrigins *origins, LockTupleMode mode,
						   ZFormedRow *row);

/*
 * For an update in place: let the row name the places of the version before, unless the mode
 * excludes locks.
 */
extern void zorigins_keep(const ZRowVersion *old, LockTupleMode mode, ZFormedRow *row);

#endif							/* ZHEAP_UPDATE_H */
