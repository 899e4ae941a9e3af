/*
 * logical.h
 *		What logical decoding is told of changes: formed before they are made.
 *
 * For a table that is not logically logged all of this does nothing, and tells nothing.
 */
#ifndef ZHEAP_LOGICAL_H
#define ZHEAP_LOGICAL_H

#include "access/heapam.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "lib/stringinfo.h"
#include "utils/rel.h"

#include "zheap/dml/target.h"

/* A change of a row, or an insertion of some. */
typedef struct ZLogical
{
	Relation	rel;
	bool		wanted;			/* the table is logically logged; else nothing below matters */
	Bitmapset  *identity;		/* as in ZTableIndexes */
	StringInfoData tuples;
	int			old_len;		/* so many bytes of it are of the version before */
	ZRecLogical part;
} ZLogical;

/* Begin; "options" are those of an insertion, or 0.  May read catalogs, so no page is locked. */
extern void zlogical_begin(ZLogical *logical, Relation rel);

static inline void
zlogical_open(ZLogical *logical, Relation rel, int options)
{
	logical->wanted = false;
	if (RelationIsLogicallyLogged(rel) && !(options & HEAP_INSERT_NO_LOGICAL))
		zlogical_begin(logical, rel);
}

/* Free all of it.  After an error that is left to the current context of zlogical_open(). */
extern void zlogical_end(ZLogical *logical);

static inline void
zlogical_close(ZLogical *logical)
{
	if (logical->wanted)
		zlogical_end(logical);
}

/*
 * An insertion of one row, or a speculative one, if "token" is not 0.  What is returned, here and
 * below, lasts until the next call; NULL: there is nothing to tell.
 */
extern const ZRecLogical *zlogical_insert(ZLogical *logical, const ZFormedRow *row, uint32 token);

/*
 * Of many: add them all, noting where each begins (tuples.len), then take "nrows" of them that
 * begin at "from".
 */
extern void zlogical_add_row(ZLogical *logical, const ZFormedRow *row);
extern const ZRecLogical *zlogical_rows(ZLogical *logical, int from, int to, int nrows);

/*
 * The version before an update or deletion, as far as the table's replica identity wants it:
 * all of it, its key, or nothing.  "key_changed": an update changes the key, or it is a deletion.
 * May read the toast table, so no page is locked.
 */
extern void zlogical_old(ZLogical *logical, HeapTuple old, bool key_changed);

/* Would it do that? */
extern bool zlogical_old_reads_toast(const ZLogical *logical, HeapTuple old);

/* The same for a version without toasted values; it may be on a locked page. */
extern void zlogical_old_row(ZLogical *logical, const char *row, uint32 len, bool key_changed);

/* After that. */
extern const ZRecLogical *zlogical_update(ZLogical *logical, const ZFormedRow *row);
extern const ZRecLogical *zlogical_delete(ZLogical *logical);

#endif							/* ZHEAP_LOGICAL_H */
