/*
 * table_indexes.h
 *		What is known of a table's indexes: which columns they use, and what an update that
 *		changes one has to do.
 *
 * "Several keys": an update in place of an indexed column leaves the row where it is, and adds an
 * entry with the new key to the index.  The index then has entries of the row that do not have the
 * key of the version that a snapshot sees, and scans must tell them apart: see
 * src/index/README.md.
 */
#ifndef ZHEAP_TABLE_INDEXES_H
#define ZHEAP_TABLE_INDEXES_H

#include "access/genam.h"
#include "access/relscan.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/relcache.h"

#include "zheap/base/stats.h"

/*
 * What an update that changes a column of the index has to do (src/index/README.md, "Every kind of
 * index").  Where it is not said that the row moves, it may be changed in place.
 */
typedef enum ZIndexChange
{
	ZINDEX_MOVES,				/* move the row to another line pointer */
	ZINDEX_ADDS,				/* insert an entry for the new key, which differs from the old one
								 * if a column's bytes differ */
	ZINDEX_COMPARES,			/* as ZINDEX_ADDS, but functions of types or of the index tell
								 * whether there is a key, and whether it differs */
	ZINDEX_MERGES,				/* insert the keys that the old version lacks, or another entry
								 * of the row: GIN, bloom */
	ZINDEX_RECHECKS,			/* insert an entry; scans recheck rows with several: GiST, SP-GiST,
								 * hash */
	ZINDEX_SUMMARIZES			/* insert, into an index that summarizes blocks: BRIN */
} ZIndexChange;

typedef struct ZTableIndex
{
	Oid			oid;
	ZIndexChange change;
	bool		gin;			/* GIN: COMPARE tells whether keys are added */
	bool		once;			/* it moves rows that have several keys: hash */
	ZTableCounter moved;		/* the counter of these rows, if ZINDEX_MOVES */
	Bitmapset  *columns;		/* columns of keys, included columns, expressions and predicate,
								 * numbered as in RelationGetIndexAttrBitmap */
} ZTableIndex;

typedef struct ZTableIndexes
{
	Oid			table;			/* hash key */
	uint64		generation;		/* value of the counter of invalidations when this was made */
	MemoryContext context;		/* has the sets and the array below */
	Bitmapset  *columns;		/* columns of all indexes */
	Bitmapset  *keys;			/* columns that foreign keys may refer to */
	Bitmapset  *identity;		/* key columns of the replica identity index, if there is one */
	int			highest;		/* highest attribute number that an index uses; 0: none */
	bool		whole;			/* some index refers to the whole row */
	bool		btrees;			/* all indexes are B-trees on plain columns, valid and ready */
	int			nentries;		/* number of indexes that get an entry of each row */
	int			n;
	ZTableIndex *indexes;
} ZTableIndexes;

/*
 * Return what is known of the indexes of the table, which is open and locked.
 *
 * The result belongs to a cache, is not to be freed, and is valid until the next call.  Changes
 * made meanwhile do not matter to the row of one statement, as with the server's own sets of
 * columns.  The indexes are not locked.  Side effect: the relation cache entries of the indexes
 * get our routines (zindex_watch_entries, zindex_wrap_insertions, zrecheck_wrap).
 *
 * May read catalogs: no buffer is locked (L2).  Errors are those of catalog reads.
 */
extern PGDLLEXPORT const ZTableIndexes *ztable_indexes(Relation table);

/* ---- one index ---- */

/* Return whether the index has neither expressions nor a predicate.  No locks, no errors. */
extern bool zindex_has_plain_columns(Relation index);

/*
 * Return how the index tells several entries of one row apart: ZINDEX_ADDS, a B-tree on plain
 * columns where keys that differ in their bytes are different keys, and are stored as the table
 * stores them; ZINDEX_COMPARES, any other B-tree that enforces no constraint; or ZINDEX_MOVES, if
 * it cannot.  May read catalogs.
 */
extern ZIndexChange zindex_kind(Relation table, Relation index);

/*
 * Return whether the table's index may have several entries of one row.  The answer does not
 * change during the life of the index.  May read catalogs.
 */
extern bool zindex_may_have_several_keys(Relation table, Relation index);

/*
 * Put our routine into the relation cache entry of the table's B-tree, by zindex_watch_entries().
 * The index is not watched if its functions must not be executed by scans or VACUUM: then it gets
 * one entry of each row, and scans take the row for it without a comparison.  May read catalogs.
 */
extern void zindex_watch(Relation table, Relation index);

/*
 * Return whether the index, of an access method other than the B-tree, takes keys of several
 * versions of a row, and bitmaps of it miss no version then.  Keys that no version has any more
 * stay as long as the row, and can't be found.  The answer does not change during the life of the
 * index.  May read catalogs.
 */
extern bool zindex_merges(Relation index);

/*
 * Return whether the table's index is a hash, GiST or SP-GiST index that may have several entries
 * of one row, so that scans recheck such rows.  It enforces no constraint.  The answer does not
 * change during the life of the index.  May read catalogs.
 */
extern bool zindex_rechecks(Relation index);

/* ---- the entry that a scan is at (index_entries.c) ---- */

/* The first part of the state of a table's fetch by index: see index_fetch_begin. */
typedef struct ZIndexFetchBase
{
	IndexFetchTableData base;	/* must be first */
	IndexScanDesc entries;		/* the scan that supplies the TIDs, if its index may have
								 * several entries of a row; or NULL */
	struct ZRecheck *recheck;	/* a scan of a GiST or SP-GiST index that may have several entries
								 * of a row (index_recheck.c); or NULL */
	uint32		leaf;			/* counts pages of the index read by "entries" or "recheck", and
								 * its rescans */
	uint64		marks;			/* zheap_marks_cleared() before the scan read the last page (N5) */
	uint64		first_marks;	/* ... before it read its first page */

	/* entries that are dead for good, for the scan's snapshot (index_skip.h) */
	bool		may_skip;		/* the scan may look for them */
	bool		skips;			/* it looks for them: an entry has led to no row */
	bool		began;			/* "backward" is known */
	bool		backward;
	bool		looked;			/* the row of the last entry has been looked at; for "recheck",
								 * too */
	bool		asked;			/* a range has been looked for at the first such entry */
	uint32		misses;			/* number of consecutive such entries, up to the last one */
	uint64		clock;			/* zdead_clock() before the scan read its page of the index, or
								 * earlier */
	uint64		first_clock;	/* ... before it read its first page */
	IndexScanDesc scan;			/* the scan if it is one of a B-tree, or NULL */
	struct ZSkipRun *skip;		/* the scan's run; NULL if there were few such entries */
	struct ZStaleEntries *stale;	/* entries to be marked; NULL if there were none */
} ZIndexFetchBase;

/*
 * Put our routine into the relation cache entry of a B-tree.
 *
 * Its scans then report themselves to the fetch of the table's rows and, if the kind is one of
 * those with several entries of a row, the entries that they are at; its insertions look for dead
 * ranges.  Idempotent; no locks, no errors.
 */
extern void zindex_watch_entries(Relation index, ZIndexChange kind);

/*
 * Put our insertion into the relation cache entry of a hash or GiST index; does nothing for
 * others.  Idempotent; no locks, no errors.  An insertion into such an index may ask which entries
 * of a page are dead, so it opens the undo relation before it locks that page.
 */
extern void zindex_wrap_insertions(Relation index);

/*
 * Return whether scans of the index report their entries.  Reads no catalog, so pages may be
 * locked.  After ztable_indexes() it is true of each index that may have several entries of a row
 * and whose functions are in C, unless its relation cache entry has been rebuilt since.
 */
extern bool zindex_is_watched(Relation index);

/* Return whether it is watched as one of kind ZINDEX_COMPARES.  Reads no catalog. */
extern bool zindex_compares(Relation index);

/* Take back the memory that was lent to scans; no locks, no errors. */
extern void zindex_entries_at_end_of_transaction(void);

#endif							/* ZHEAP_TABLE_INDEXES_H */
