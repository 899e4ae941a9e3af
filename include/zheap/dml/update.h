/*
 * update.h
 *		What the files of UPDATE share; its phases are drawn in src/dml/README.md.
 */
#ifndef ZHEAP_UPDATE_H
#define ZHEAP_UPDATE_H

#include "zheap/base/stats.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/target.h"

/* ---- dml_update_columns.c ---- */

/* What of the row the update changes, as far as indexes have it. */
typedef struct ZColumnChanges
{
	bool		key;			/* a column that foreign keys may refer to */
	bool		identity;		/* a column of the replica identity's key */
	ZTableCounter way;			/* as far as indexes go: it stays, with further entries of it in
								 * indexes or none; or why it moves */
	Bitmapset  *indexes;		/* if it stays, those that are to hear of it, by their numbers;
								 * in the current memory context */
} ZColumnChanges;

/* ERROR (data corrupted) if a row cannot be read. */
extern void zcolumns_changed(const ZTableIndexes *indexes, Relation rel, const ZRowVersion *old,
							 const char *row, uint32 len, ZColumnChanges *changes);

/* ---- dml_update_entries.c ---- */

/*
 * A row has been changed in place: insert the entries for its new values, those in the slot, into
 * these of the table's indexes.  "had_several_keys": such an entry may be there from before.  No page is
 * locked.  Errors are those of the index, as when a row is inserted.
 */
extern void zentries_insert(Relation rel, const ZTableIndexes *indexes, const Bitmapset *which,
							TupleTableSlot *slot, bool had_several_keys);

/* ---- dml_update_origins.c ---- */

/*
 * Where a row that moves may have left KEY SHARE locks behind, which its new version names
 * (ZROW_ORIGIN).
 */
typedef struct ZOrigins
{
	bool		named;			/* the new row names the TID that it had */
	bool		must_name;		/* it is to do so: a lock came while it was being made */
	bool		known;			/* "ended" has been filled in */
	int			nended;
	ItemPointerData ended[ZROW_MAX_ORIGINS];	/* where nobody has a lock any more */
} ZOrigins;

/*
 * Has somebody else a lock on the locked page's row?  Asked with NO KEY UPDATE: that is,
 * KEY SHARE.  True also where it takes long to find out.
 */
extern bool zorigins_row_may_be_held(ZTarget *target);

/*
 * Let the new row name the places where others may have
 * KEY SHARE locks.  DONE; AGAIN; or NO_ROOM: these are too many, or the row is too long to
 * name them; the page is still locked, and nobody must have a lock.
 */
extern ZStep zorigins_name(ZTarget *target, ZOrigins *origins, LockTupleMode mode,
						   ZFormedRow *row);

/* In place: the row goes on naming those of the version before, unless the mode excludes locks. */
extern void zorigins_keep(const ZRowVersion *old, LockTupleMode mode, ZFormedRow *row);

#endif							/* ZHEAP_UPDATE_H */
