/*
 * verify_private.h
 *		What the files of zheap_verify() share.
 */
#ifndef ZHEAP_VERIFY_PRIVATE_H
#define ZHEAP_VERIFY_PRIVATE_H

#include "access/genam.h"
#include "access/itup.h"
#include "lib/bloomfilter.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "utils/hsearch.h"

#include "zheap/base/pg_compat_bitmap.h"
#include "zheap/inspect/inspect.h"
#include "zheap/mvcc/mvcc.h"

typedef struct Verify Verify;
typedef struct VerifyIndex VerifyIndex;
typedef struct VerifyBrin VerifyBrin;

/*
 * How indexes of one access method are looked at.  All that may be NULL but "am" and "has".
 */
typedef struct VerifyMethod
{
	Oid			am;
	/* Make room, of "memory" kB. */
	void		(*begin) (VerifyIndex *index, int memory);
	/* Before the table is read; and after it.  Steps, of verify->index. */
	void		(*read) (Verify *verify);
	void		(*read_again) (Verify *verify);
	/*
	 * Is the row in verify->slot, whose key is in verify->index, in that index?  True also if
	 * that has been told of.
	 */
	bool		(*has) (Verify *verify);
	void		(*end) (VerifyIndex *index);
} VerifyMethod;

/* An index that rows are to be in. */
struct VerifyIndex
{
	Relation	rel;
	const VerifyMethod *method;
	IndexInfo  *info;
	ExprState  *predicate;
	bool		readable;		/* so far */
	bool		unknown;		/* it was not read, though nothing is known to be wrong with it */
	uint64		freed;			/* zheap_pointers_freed() before the index was read */

	/* the key of the row that is looked at */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	/* whichever the method has */
	bloom_filter *entries;		/* the index's entries: what they hold of the key, and TIDs */
	bloom_filter *rows;			/* rows that the snapshot sees: their keys, and TIDs */
	TIDBitmap  *tids;			/* of the entries */
	ZCompatTids *iterator;		/* over "tids"; NULL: they have not been read */
	ZCompatTidBlock *at;		/* where that is; NULL: at the end */
	VerifyBrin *brin;
};

struct Verify
{
	ReturnSetInfo *rsinfo;
	bool		with_relation;	/* the first column tells which table it is */
	bool		toast;
	Relation	rel;
	Relation	toast_rel;		/* or NULL */
	Snapshot	snapshot;		/* the statement's: rows that it sees are in indexes */
	VerifyIndex *indexes;
	int			nindexes;
	VerifyIndex *index;			/* the one that is looked at */
	EState	   *estate;			/* for keys and predicates */
	TupleTableSlot *slot;		/* a row, its values deformed */
	MemoryContext per_row;
	ZPageView	view;

	/* where we are */
	BlockNumber block;
	OffsetNumber offnum;		/* or invalid */
	bool		usable;			/* the page's rows can be walked */
	int64		findings;
	int			nrecords;		/* of WAL, looked for */

	/* blocks of the table with rows that could not be looked at, ascending */
	BlockNumber *damaged;
	int			ndamaged;
	int			max_damaged;
};

/* ---- verify_findings.c ---- */

/* Something is wrong at this place.  "kind" is one of those in docs/inspection.md. */
extern void verify_report(Verify *verify, const char *kind, const char *fmt,...)
			pg_attribute_printf(3, 4);

/* An entry of verify->index, which is at this place there, leads to something wrong. */
extern void verify_report_entry(Verify *verify, ItemPointer tid, BlockNumber index_block,
								OffsetNumber item, const char *where);

/*
 * Take a step that may come upon damage: an error of that kind is a finding.  True: it went to
 * its end.
 */
extern bool verify_step(Verify *verify, const char *kind, void (*step) (Verify *verify));

/* Rows of verify->block could not be looked at.  And was that so of the block? */
extern void verify_note_damaged(Verify *verify);
extern bool verify_is_damaged(Verify *verify, BlockNumber block);

/* ---- verify_page.c ---- */

/* The page itself, its slots, overflow and lock pages, its bits in the visibility map. */
extern void verify_page(Verify *verify);

/* ---- verify_entry.c ---- */

/* What may be there for an entry: a row, or a dead line pointer (I1). */
extern bool verify_pointer_exists(Page page, OffsetNumber offnum);

/* Is the item within the copy of an index's page, and long enough for an index tuple? */
extern bool verify_item_fits(Page page, OffsetNumber offnum);

/* Are all? */
extern bool verify_items_fit(Page page);

/* Is the page's header one of a page with so many bytes for the access method? */
extern bool verify_has_special(Page page, Size special);

/* The item there, if it is an index tuple as a whole; or NULL. */
extern IndexTuple verify_index_tuple(Page page, OffsetNumber offnum);

/*
 * Where the value ends that is said to begin at "at", once aligned from "start" on; NULL: not
 * before "end".
 */
extern const char *verify_value_end(const char *start, const char *at, const char *end,
									int16 attlen, char attalign);

/* Its values, of the first "size" bytes; they refer to it.  False: these bytes make none. */
extern bool verify_entry_values(IndexTuple tuple, Size size, TupleDesc desc, Datum *values,
								bool *isnull);

/*
 * Values of an index's columns as bytes, the same for the same values, whether they are
 * compressed or not.  Allocated in the current context.
 */
extern StringInfo verify_key_bytes(TupleDesc desc, const Datum *values, const bool *isnull);

/*
 * The address behind the first "len" of the bytes, in the place of whatever was there: these
 * bytes in a filter?
 */
extern void verify_add_entry(bloom_filter *filter, StringInfo bytes, int len, ItemPointer tid);
extern bool verify_lacks_entry(bloom_filter *filter, StringInfo bytes, int len, ItemPointer tid);

/* ---- verify_seen.c ---- */

/*
 * The version of the row on the view's page that the snapshot sees, into verify->slot, which
 * refers to the current context's memory.  False: it sees none.  ERROR if it is damaged.
 */
extern bool verify_fetch_seen(Verify *verify, OffsetNumber offnum);

/* Deform the values of a version up to this column.  ERROR as above. */
extern void verify_deform(Verify *verify, const ZRowVersion *version, int upto, Datum *values,
						  bool *isnull, uint32 *end);

/* The index's key of the row in verify->slot; false: it has none there. */
extern bool verify_form_key(Verify *verify, VerifyIndex *index);

/* ---- verify_walk.c: an index from its roots on ---- */

/* A link that is still to be followed. */
typedef struct VerifyLink
{
	ItemPointerData to;
	XLogRecPtr	parent_lsn;		/* of the page that had it, when that was read, or invalid */
} VerifyLink;

typedef struct VerifyWalk
{
	Relation	index;
	TIDBitmap  *tids;			/* of the entries that have been found */
	HTAB	   *passed;			/* places that have been come to */
	VerifyLink *links;
	int			nlinks;
	int			max_links;
	PGAlignedBlock copy;		/* of the page that is looked at */
	BlockNumber block;			/* which that is */
} VerifyWalk;

/* Of verify->index.  If an error ends the step the walk goes with the step's memory. */
extern VerifyWalk *verify_walk_begin(Verify *verify);
extern void verify_walk_end(VerifyWalk *walk);

extern void verify_walk_add(VerifyWalk *walk, BlockNumber block, OffsetNumber off,
							XLogRecPtr parent_lsn);

/* The link that was added last is taken; false: there is none left.  Can be cancelled. */
extern bool verify_walk_next(VerifyWalk *walk, VerifyLink *link);

/* Is the place come to for the first time?  Links that form a circle lead to one again. */
extern bool verify_walk_pass(VerifyWalk *walk, BlockNumber block, OffsetNumber off);

/* Copy a page; ERROR if there is none, it is of zeros, or not what "is_page" takes. */
extern void verify_walk_copy(VerifyWalk *walk, BlockNumber block,
							 bool (*is_page) (Page page, BlockNumber block));

/* ERROR: this block of an index is damaged. */
pg_noreturn extern void verify_damaged_block(Relation index, BlockNumber block);

/* ---- verify_summary.c ---- */

/*
 * Is this value of a BRIN summary, for a column of "type", whole?  True also of those that are
 * of other types than the server's two for summaries.
 */
extern bool verify_summary_fits(Oid summary_type, Oid type, Datum value);

/* ---- verify_btree.c, _hash.c, _gist.c, _spgist.c, _gin.c, _brin.c ---- */

extern const VerifyMethod verify_btree;
extern const VerifyMethod verify_hash;
extern const VerifyMethod verify_gist;
extern const VerifyMethod verify_spgist;
extern const VerifyMethod verify_gin;
extern const VerifyMethod verify_brin;

/* ---- verify_tids.c: indexes whose entries' TIDs are kept ---- */

extern void verify_tids_begin(VerifyIndex *index, int memory);
/* They are complete. */
extern void verify_tids_ready(VerifyIndex *index);
extern bool verify_tids_have(Verify *verify);
/* Those that lead to the page that has been copied into the view; those beyond the table's end. */
extern void verify_tids_of_page(Verify *verify);
extern void verify_tids_beyond(Verify *verify);
extern void verify_tids_end(VerifyIndex *index);

/* The access method is "oid", and "function" puts the TIDs of the entries into index->tids. */
#define VERIFY_TIDS_METHOD(oid, function) { \
	.am = (oid),.begin = verify_tids_begin,.read = (function), \
	.has = verify_tids_have,.end = verify_tids_end \
}

/* ---- verify_index.c ---- */

/* Read the table's indexes, before the table is read; and again behind it. */
extern void verify_open_indexes(Verify *verify);
extern void verify_reread_indexes(Verify *verify);
extern void verify_close_indexes(Verify *verify);

/* The row in verify->slot, which the snapshot sees, is to be in all of them. */
extern void verify_in_indexes(Verify *verify);

/* ---- verify_row.c ---- */

/* Copy the page into the view, and go down the chain of each of its slots. */
extern void verify_chains(Verify *verify);

/* All versions of the row at verify->offnum; what the snapshot sees of it. */
extern void verify_row(Verify *verify);

#endif							/* ZHEAP_VERIFY_PRIVATE_H */
