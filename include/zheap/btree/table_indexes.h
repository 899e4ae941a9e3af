/*
 * table_indexes.h
 *		What is known of a table's indexes: which columns they use, and what an update that
 *		changes one has to do.
 *
 * "Several keys": an update in place of an indexed column leaves the row where it is, and adds
 * an entry with the new key to the index.  The index then has entries of the row that are not
 * of the version that a snapshot sees, and scans must tell them apart: see src/index/README.md.
 */
#ifndef ZHEAP_TABLE_INDEXES_H
#define ZHEAP_TABLE_INDEXES_H

#include "access/genam.h"
#include "access/relscan.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/relcache.h"

/* An update has changed a column of the index. */
typedef enum ZIndexChange
{
	ZINDEX_MOVES,				/* the row gets another line pointer */
	ZINDEX_ADDS,				/* the row may stay, if the index gets an entry for its new key */
	ZINDEX_SUMMARIZES			/* the same, and no entry is of one row: BRIN */
} ZIndexChange;

typedef struct ZTableIndex
{
	Oid			oid;
	ZIndexChange change;
	Bitmapset  *columns;		/* of keys, included columns, expressions and predicate; as in
								 * RelationGetIndexAttrBitmap */
} ZTableIndex;

typedef struct ZTableIndexes
{
	Oid			table;			/* hash key */
	uint64		generation;		/* of the server's descriptions that this one was made from */
	MemoryContext context;		/* of the rest */
	Bitmapset  *columns;		/* of all indexes */
	Bitmapset  *keys;			/* those that foreign keys may refer to */
	Bitmapset  *identity;		/* those of the replica identity's key, if it is an index */
	int			highest;		/* attribute number that an index has; 0: none */
	bool		whole;			/* an index refers to whole rows */
	bool		btrees;			/* all are B-trees on columns alone, valid and ready */
	int			nentries;		/* of the indexes, those that get an entry of each row */
	int			n;
	ZTableIndex *indexes;
} ZTableIndexes;

/*
 * Of the table, which is open and locked.  Valid until the next call: what has changed meanwhile
 * changes nothing for one statement's row, as with the server's own sets.  May read catalogs.
 */
extern PGDLLEXPORT const ZTableIndexes *ztable_indexes(Relation table);

/* ---- which indexes (index_entries.c) ---- */

/* Neither expressions nor a predicate. */
extern bool zindex_has_plain_columns(Relation index);

/*
 * May the table's index have several entries of one row?  A B-tree whose entries nothing else
 * depends on, where keys with other bytes are other keys, stored as the table stores them.  The
 * answer is the same as long as the index is there.  May read catalogs.
 */
extern bool zindex_may_have_several_keys(Relation table, Relation index);

/* ---- the entry that a scan is at ---- */

/* The first part of what a table's fetch by index keeps: see index_fetch_begin. */
typedef struct ZIndexFetchBase
{
	IndexFetchTableData base;	/* must be first */
	IndexScanDesc entries;		/* the scan that the TIDs come from, if its index may have
								 * several entries of a row; or NULL */
	uint32		leaf;			/* it has read so many pages of the index, or fewer */
	uint64		marks;			/* zheap_marks_cleared before it read the last one (N5) */
	uint64		first_marks;	/* ... or the first one */

	/* entries that are dead for good, for the scan's snapshot (index_skip.h) */
	bool		may_skip;		/* they may be looked for */
	bool		skips;			/* they are: an entry has led to no row */
	bool		began;			/* the scan has a direction: this one */
	bool		backward;
	bool		looked;			/* the last entry has been looked at */
	bool		asked;			/* for a range, at the first entry that was such */
	uint32		misses;			/* so many of the last ones, without a break, were such */
	uint64		clock;			/* zdead_clock before it read its page of the index, or earlier */
	uint64		first_clock;	/* ... or any page */
	IndexScanDesc scan;			/* the scan, if it is one of a B-tree; or NULL */
	struct ZSkipRun *skip;		/* or NULL: there have not been many */
} ZIndexFetchBase;

/*
 * From now on scans of the B-tree tell the fetch of the table's rows of themselves and, if it may
 * have several entries of a row, of their entries; and insertions tell of theirs.
 */
extern void zindex_watch_entries(Relation index, bool several_keys);

/*
 * The same for an index that is no B-tree: an insertion that may ask which entries of a page are
 * of dead rows (hash, GiST) opens the undo log before it locks that page.
 */
extern void zindex_wrap_insertions(Relation index);

/*
 * Does it tell of entries?  Reads no catalog, so it may be asked with pages locked.  Any index
 * that may have several entries of a row does, after ztable_indexes(), unless its description has
 * been made anew since.
 */
extern bool zindex_is_watched(Relation index);

/*
 * Is the entry that the scan is at of the version in the slot?  Both have been read; no page is
 * locked, as values may have to be fetched from the toast table.
 */
extern bool zindex_entry_is_of(IndexScanDesc scan, TupleTableSlot *slot);

/* Values of the columns of an index on columns, of the version in the slot; no page is locked. */
extern void zindex_values_of(Relation index, TupleTableSlot *slot, Datum *values, bool *isnull);

/*
 * As zindex_entry_is_of() in two steps: the key of the version in the slot, allocated in the
 * current context, or NULL if it has more than "max" bytes; and later, no page need be read then,
 * whether the entry that the scan is at by then has it.
 */
extern IndexTuple zindex_key_of(Relation index, TupleTableSlot *slot, Size max);
extern bool zindex_entry_has_key(IndexScanDesc scan, IndexTuple key);

extern void zindex_entries_at_end_of_transaction(void);

#endif							/* ZHEAP_TABLE_INDEXES_H */
