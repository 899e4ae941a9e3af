/*
 * logical.h
 *		Data of a change for logical decoding, formed before the change is made.
 *
 * For a table that is not logically logged these functions do nothing, and return NULL or false.
 * All may raise ERROR (data_corrupted) if a row cannot be read.  Those that return a ZRecLogical
 * raise ERROR (program_limit_exceeded) if it is too long for WAL.
 */
#ifndef ZHEAP_LOGICAL_H
#define ZHEAP_LOGICAL_H

#include "access/heapam.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "lib/stringinfo.h"
#include "utils/rel.h"

#include "zheap/dml/target.h"
#include "zheap/record/record.h"

/* The data of one change of a row, or of an insertion of several rows. */
typedef struct ZLogical
{
	Relation	rel;
	bool		wanted;			/* the table is logically logged; otherwise the fields below are
								 * not set */
	Bitmapset  *identity;		/* as in ZTableIndexes */
	StringInfoData tuples;
	int			old_len;		/* number of bytes of it that belong to the version before */
	ZRecLogical part;
} ZLogical;

/*
 * Begin; "options" are those of an insertion, or 0.  May read catalogs, so no page is locked.
 * zlogical_open() allocates in the current memory context if the table is logically logged.
 */
extern void zlogical_begin(ZLogical *logical, Relation rel);

/*
 * Begin to collect what a change tells logical decoding, if the table is logically logged and the
 * "options" of the insertion do not rule it out.  zlogical_close() frees what this allocates.
 */
static inline void
zlogical_open(ZLogical *logical, Relation rel, int options)
{
	logical->wanted = false;
	if (RelationIsLogicallyLogged(rel) && !(options & HEAP_INSERT_NO_LOGICAL))
		zlogical_begin(logical, rel);
}

/*
 * Free everything.  After an error that is left to the memory context that was current in
 * zlogical_open().
 */
extern void zlogical_end(ZLogical *logical);

/* End what zlogical_open() has begun. */
static inline void
zlogical_close(ZLogical *logical)
{
	if (logical->wanted)
		zlogical_end(logical);
}

/*
 * Form the data of an insertion of one row; it is speculative if "token" is not 0.  The result,
 * here and below, is valid until the next call for this ZLogical; NULL if there is nothing to
 * log.
 */
extern const ZRecLogical *zlogical_insert(ZLogical *logical, const ZFormedRow *row, uint32 token);

/*
 * Form the data of an insertion of many rows: add them all, noting where each begins
 * (tuples.len), then take the data of "nrows" of them, the bytes from "from" to "to".
 */
extern void zlogical_add_row(ZLogical *logical, const ZFormedRow *row);
extern const ZRecLogical *zlogical_rows(ZLogical *logical, int from, int to, int nrows);

/*
 * Add the version before an update or deletion, as far as the table's replica identity requires
 * it: all of it, its key, or nothing.  "key_changed" is true if an update changes the key, and
 * for a deletion.  May read the toast table, so no page is locked.
 */
extern void zlogical_old(ZLogical *logical, HeapTuple old, bool key_changed);

/* Return whether zlogical_old() would read the toast table. */
extern bool zlogical_old_reads_toast(const ZLogical *logical, HeapTuple old);

/* Like zlogical_old(), for a version without toasted values; it may be on a locked page. */
extern void zlogical_old_row(ZLogical *logical, const char *row, uint32 len, bool key_changed);

/* Form the data of an update or a deletion, after the version before was added. */
extern const ZRecLogical *zlogical_update(ZLogical *logical, const ZFormedRow *row);
extern const ZRecLogical *zlogical_delete(ZLogical *logical);

#endif							/* ZHEAP_LOGICAL_H */
