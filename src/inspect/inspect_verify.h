/*
 * inspect_verify.h
 *		What the files of zheap_verify() share.
 */
#ifndef ZHEAP_INSPECT_VERIFY_H
#define ZHEAP_INSPECT_VERIFY_H

#include "access/genam.h"
#include "lib/bloomfilter.h"
#include "nodes/execnodes.h"

#include "inspect_private.h"

/* An index that rows are to be in. */
typedef struct VerifyIndex
{
	Relation	rel;
	IndexInfo  *info;
	ExprState  *predicate;
	bloom_filter *entries;		/* of keys and TIDs; NULL: it could not be read */
} VerifyIndex;

typedef struct Verify
{
	ReturnSetInfo *rsinfo;
	bool		with_relation;	/* the first column tells which table it is */
	bool		toast;
	Relation	rel;
	Relation	toast_rel;		/* or NULL */
	Snapshot	snapshot;		/* the statement's: rows that it sees are in indexes */
	VerifyIndex *indexes;
	int			nindexes;
	EState	   *estate;			/* for keys and predicates */
	TupleTableSlot *slot;		/* a row, its values deformed */
	MemoryContext per_row;
	ZPageView	view;

	/* where we are */
	BlockNumber block;
	OffsetNumber offnum;		/* or invalid */
	bool		usable;			/* the page's rows can be walked */
	int64		findings;
} Verify;

/* ---- inspect_findings.c ---- */

/* Something is wrong at this place.  "kind" is one of those in docs/inspection.md. */
extern void verify_report(Verify *verify, const char *kind, const char *fmt,...)
			pg_attribute_printf(3, 4);

/*
 * Take a step that may come upon damage: an error of that kind is a finding.  True: it went to
 * its end.
 */
extern bool verify_step(Verify *verify, const char *kind, void (*step) (Verify *verify));

/* ---- inspect_verify_page.c ---- */

/* The page itself, its slots, overflow and lock pages, its bits in the visibility map. */
extern void verify_page(Verify *verify);

/* ---- inspect_verify_row.c ---- */

/* Copy the page into the view, and go down the chain of each of its slots. */
extern void verify_chains(Verify *verify);

/* All versions of the row at verify->offnum; what the snapshot sees of it. */
extern void verify_row(Verify *verify);

/* ---- inspect_verify_index.c ---- */

/* Read the table's B-trees; before the table is read.  And forget them. */
extern void verify_open_indexes(Verify *verify);
extern void verify_close_indexes(Verify *verify);

/* The row in verify->slot, which the snapshot sees, is to be in all of them. */
extern void verify_in_indexes(Verify *verify);

#endif							/* ZHEAP_INSPECT_VERIFY_H */
