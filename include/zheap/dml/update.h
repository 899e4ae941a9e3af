/*
 * update.h
 *		Declarations shared by the files of UPDATE; its phases are drawn in src/dml/README.md.
 */
#ifndef ZHEAP_UPDATE_H
#define ZHEAP_UPDATE_H

#include "access/itup.h"

#include "zheap/base/stats.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/target.h"

/* ---- dml_update_columns.c ---- */

/* What the update does to the row's key in one index. */
typedef enum ZKeyChange
{
	ZKEY_UNKNOWN,				/* functions have to tell */
	ZKEY_SAME,					/* nothing; or the row has no key before and after */
	ZKEY_LEAVES,				/* the new version lacks a key, and has no new one: it is not under
								 * the predicate, or (GIN) has some of the keys */
	ZKEY_ADDED,					/* the new version has another key, which gets an entry unless
								 * there is one */
	ZKEY_NEW,					/* ... of which there is no entry of the row, alive or marked as
								 * dead */
	ZKEY_TO_LIST,				/* GIN: the row moves, as keys of it may be in the pending list, or
								 * many have to be inserted, which the list takes for less */
	ZKEY_OTHER_BYTES			/* an equal one, whose bytes or included values differ: the row
								 * moves, so that all entries have the bytes of all versions with
								 * their key */
} ZKeyChange;

/* Keys that a version has in a GIN index, and the one before has not. */
typedef struct ZGinKeys ZGinKeys;

/*
 * The keys of two versions compared, in the indexes where functions have to tell.  Valid for an
 * old version of the same bytes (zcomparison_holds).
 */
typedef struct ZComparison
{
	char	   *old;			/* copy of the old version; NULL: nothing was compared */
	uint32		len;
	bool		locked;			/* the row was locked meanwhile */
	bool		entries;		/* entries that the row has in a B-tree may matter */
	XLogRecPtr	lsn;			/* of its page before; invalid if that would not show changes */
	int			n;
	Oid		   *indexes;
	ZKeyChange *changes;
	ZGinKeys  **added;			/* of GIN indexes: if there is a change, and the row may stay */
} ZComparison;

/* What the update changes, as far as indexes are concerned. */
typedef struct ZColumnChanges
{
	bool		key;			/* a column that foreign keys may refer to */
	bool		identity;		/* a column of the replica identity's key */
	ZTableCounter way;			/* as far as indexes are concerned: the row stays, with or
								 * without new index entries, or why it moves */
	bool		keeps_entries;	/* if it stays: one of "indexes" is ZINDEX_MERGES or
								 * ZINDEX_RECHECKS, whose stale entries can't be removed */
	Bitmapset  *indexes;		/* if it stays: the indexes that get an entry, by their numbers;
								 * in the current memory context */
	Bitmapset  *absent;			/* ... those of them where it is known that there is none */
	Bitmapset  *unknown;		/* if it may stay: those where functions have to tell */
} ZColumnChanges;

/*
 * Compare the new row with the old version.  The row may be on a locked page: no lock is taken,
 * and no function of a type is called.  "comparison" has the results of such functions, or is
 * NULL.  The caller frees *changes by zcolumns_free().  ERROR (data_corrupted) if a row cannot be
 * read.
 */
extern void zcolumns_changed(const ZTableIndexes *indexes, Relation rel, const ZRowVersion *old,
							 const ZFormedRow *row, const ZComparison *comparison,
							 ZColumnChanges *changes);

/*
 * Return the number of the index in the comparison, or -1 if it was not compared; "comparison" may
 * be NULL.  No locks, no errors.
 */
extern int	zcomparison_find(const ZComparison *comparison, Oid index);

/* Free the sets in *changes, none of which is used afterwards. */
extern void zcolumns_free(ZColumnChanges *changes);

/*
 * Fill values[] and isnull[] with the first natts columns of a row.  Returns memory to be freed
 * that the values point into, as they do into the row.  ERROR (data_corrupted) if it cannot be
 * read.
 */
extern char *zcolumns_deform(Relation rel, const char *row, uint32 len, int natts, Datum *values,
							 bool *isnull);

/* ---- dml_update_entries.c ---- */

/*
 * Return what an update that gives the row this key, of its TID, does in the B-tree: ZKEY_NEW,
 * ZKEY_ADDED, or ZKEY_OTHER_BYTES if there is an entry of that key with other bytes or other
 * included values.  No page is locked.
 */
extern ZKeyChange zentries_key_change(Relation index, Relation rel, IndexTuple entry);

/* What is known of the version before an update in place. */
typedef struct ZBefore
{
	HeapTuple	tuple;			/* the version, if an index is ZINDEX_RECHECKS; or NULL */
	bool		several_keys;	/* the row had the mark: a B-tree's entry may exist, unless
								 * ZColumnChanges.absent says otherwise */
	const ZComparison *comparison;	/* of it and the new version */
} ZBefore;

/*
 * Insert the index entries for the new values of a row that was changed in place, which are in
 * the slot, into the indexes in changes->indexes.  No page is locked.  Errors are those of the
 * index, as when a row is inserted.
 */
extern void zentries_insert(Relation rel, const ZTableIndexes *indexes,
							const ZColumnChanges *changes, TupleTableSlot *slot,
							const ZBefore *before);

/* ---- dml_update_gin.c ---- */

/*
 * Return what an update of the row with this TID does to its keys in the GIN index: ZKEY_SAME,
 * ZKEY_LEAVES, ZKEY_ADDED or ZKEY_TO_LIST.  If the row may stay, *keys are those to be inserted
 * then, in the current memory context.  No page is locked; errors are those of the index's
 * functions.
 */
extern ZKeyChange zgin_compare(Relation index, TupleTableSlot *old, TupleTableSlot *new,
							   ItemPointer tid, ZGinKeys **keys);

/*
 * Insert the keys of a row that this transaction has changed in place.  No page is locked; errors
 * are those of the index.
 */
extern void zgin_insert(Relation index, const ZGinKeys *keys, ItemPointer tid);

/* ---- dml_update_gin_jsonb.c ---- */

/*
 * If both values are objects, and the second one is not empty, replace each by one that has only
 * those pairs of it of which the other one has not the like, in the current memory context, and
 * return the number of pairs that the second one had.  Otherwise change nothing, and return 0.
 * No locks; ERROR if memory is exhausted, or a value in the toast table cannot be read.
 */
extern int	zgin_reduce_jsonb(Datum *before, Datum *after);

/* ---- dml_update_gin_list.c ---- */

/*
 * Return whether the pending list of the GIN index may have keys of the row, which exists.  True
 * also if the list would have to be read for too long, or if the index is not logged and the list
 * is not empty.  No page is locked; errors are those of ReadBuffer, and lack of memory.
 */
extern bool zgin_may_be_pending(Relation index, ItemPointer tid);

/* ---- dml_update_hash.c ---- */

/*
 * Return whether the hash index has an entry for the hash code of the value, which is not NULL, of
 * a row that had one key, with the old value.  If so, serializable transactions that have read its
 * bucket are in conflict with this one.  No page is locked; errors are those of the type's hash
 * function and of ReadBuffer.
 */
extern bool zentries_hash_has(Relation index, Datum old, bool was_null, Datum value);

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
 * Let the new row name the places where other transactions may have KEY SHARE locks; "version" is
 * the old row's, which was checked under this hold of the page's lock.  DONE;
 * AGAIN: the page is unlocked; NO_ROOM: there are too many places, or the row is too long to
 * name them.  The page is still locked then, and the update must wait until no lock is held.
 */
extern ZStep zorigins_name(ZTarget *target, const ZRowVersion *version, ZOrigins *origins,
						   LockTupleMode mode, ZFormedRow *row);

/*
 * For an update in place: let the row name the places of the version before, unless the mode
 * excludes locks.
 */
extern void zorigins_keep(const ZRowVersion *old, LockTupleMode mode, ZFormedRow *row);

#endif							/* ZHEAP_UPDATE_H */
