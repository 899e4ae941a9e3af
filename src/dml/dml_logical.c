/*
 * dml_logical.c
 *		Data of changes for logical decoding.
 *
 * These are the new row, and the part of the version before that the table's replica identity
 * requires, by heap's rules (ExtractReplicaIdentity in heapam.c).  Both are heap tuples:
 * decoding reads WAL without catalogs, so it could not read the bytes of our rows alone.
 *
 * LOCKING: none is taken, except by zlogical_old() on pages of the toast table.  The others may
 * be called with a page locked.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "utils/rel.h"

#include "zheap/btree/table_indexes.h"
#include "zheap/dml/logical.h"

/*
 * Longer WAL records cannot be read; the rest of the record needs far less than what this
 * leaves.
 */
#define MAX_BYTES	(1019 * 1024 * 1024)

/* Complete the data of a change.  ERROR (program_limit_exceeded) if it is too long. */
static const ZRecLogical *
told(ZLogical *logical, ZLogicalKind kind, int nrows)
{
	logical->part.kind = kind;
	logical->part.nrows = nrows;
	logical->part.has_old = logical->old_len > 0;
	logical->part.tuples = logical->tuples.data;
	logical->part.len = logical->tuples.len;
	if (logical->part.len > MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row of table \"%s\" is too big for logical replication",
						RelationGetRelationName(logical->rel)),
				 errdetail("Its values before and after the change are %zu bytes long, the maximum is %d bytes.",
						   logical->part.len, MAX_BYTES)));
	return &logical->part;
}

/* Append the data of an inserted row. */
static void
put_inserted(ZLogical *logical, const ZFormedRow *row)
{
	HeapTuple	tuple = zdml_heap_tuple(logical->rel, row->bytes, row->len);

	zrec_logical_put_row(&logical->tuples, tuple, row->bytes, row->len);
	heap_freetuple(tuple);
}

void
zlogical_begin(ZLogical *logical, Relation rel)
{
	memset(logical, 0, sizeof(*logical));
	logical->rel = rel;
	logical->wanted = true;
	logical->identity = bms_copy(ztable_indexes(rel)->identity);
	initStringInfo(&logical->tuples);
}

void
zlogical_end(ZLogical *logical)
{
	pfree(logical->tuples.data);
	bms_free(logical->identity);
	logical->wanted = false;
}

/* ---- insertions ---- */

const ZRecLogical *
zlogical_insert(ZLogical *logical, const ZFormedRow *row, uint32 token)
{
	if (!logical->wanted)
		return NULL;
	put_inserted(logical, row);
	return told(logical, token != 0 ? ZLOGICAL_SPECULATIVE : ZLOGICAL_INSERT, 1);
}

void
zlogical_add_row(ZLogical *logical, const ZFormedRow *row)
{
	if (logical->wanted)
		put_inserted(logical, row);
}

const ZRecLogical *
zlogical_rows(ZLogical *logical, int from, int to, int nrows)
{
	if (!logical->wanted)
		return NULL;
	Assert(from >= 0 && from < to && to <= logical->tuples.len);
	(void) told(logical, ZLOGICAL_INSERT, nrows);
	logical->part.tuples = logical->tuples.data + from;
	logical->part.len = to - from;
	logical->part.more = to < logical->tuples.len;
	return &logical->part;
}

/* ---- the version before ---- */

/* Return whether a version without toasted values may be required. */
static bool
may_want_old(const ZLogical *logical, bool key_changed)
{
	char		identity = logical->rel->rd_rel->relreplident;

	return identity == REPLICA_IDENTITY_FULL ||
		(identity != REPLICA_IDENTITY_NOTHING && key_changed && !bms_is_empty(logical->identity));
}

/* Return a tuple with the key's columns, and NULL for all others. */
static HeapTuple
identity_of(const ZLogical *logical, HeapTuple old)
{
	TupleDesc	desc = RelationGetDescr(logical->rel);
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	HeapTuple	key;

	heap_deform_tuple(old, desc, values, isnull);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, logical->identity))
			isnull[i] = true;
	}
	key = heap_form_tuple(desc, values, isnull);
	pfree(values);
	pfree(isnull);
	return key;
}

static void
put_whole(ZLogical *logical, HeapTuple tuple)
{
	HeapTuple	flat = tuple;

	if (HeapTupleHasExternal(tuple))
	{
		Assert(!zheap_holds_buffer_lock()); /* D3 */
		flat = toast_flatten_tuple(tuple, RelationGetDescr(logical->rel));
	}
	zrec_logical_put_tuple(&logical->tuples, flat);
	if (flat != tuple)
		heap_freetuple(flat);
}

/*
 * Append the key if it has changed or is toasted.  A toasted key is logged even if it stays: as
 * an unchanged value it is not among the new row's, and a subscriber could not find the row by
 * it.
 */
static void
put_key(ZLogical *logical, HeapTuple old, bool changed)
{
	HeapTuple	key;

	if (bms_is_empty(logical->identity) || !(changed || HeapTupleHasExternal(old)))
		return;
	key = identity_of(logical, old);
	if (changed || HeapTupleHasExternal(key))
		put_whole(logical, key);
	heap_freetuple(key);
}

void
zlogical_old(ZLogical *logical, HeapTuple old, bool key_changed)
{
	char		identity;

	if (!logical->wanted)
		return;
	identity = logical->rel->rd_rel->relreplident;
	resetStringInfo(&logical->tuples);
	if (identity == REPLICA_IDENTITY_FULL)
		put_whole(logical, old);
	else if (identity != REPLICA_IDENTITY_NOTHING)
		put_key(logical, old, key_changed);
	logical->old_len = logical->tuples.len;
}

bool
zlogical_old_reads_toast(const ZLogical *logical, HeapTuple old)
{
	HeapTuple	key;
	bool		reads;

	if (!logical->wanted || !HeapTupleHasExternal(old))
		return false;
	if (logical->rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return true;
	key = identity_of(logical, old);
	reads = HeapTupleHasExternal(key);
	heap_freetuple(key);
	return reads;
}

void
zlogical_old_row(ZLogical *logical, const char *row, uint32 len, bool key_changed)
{
	HeapTuple	old;

	if (!logical->wanted)
		return;
	logical->old_len = 0;
	if (!may_want_old(logical, key_changed))
		return;
	old = zdml_heap_tuple(logical->rel, row, len);
	zlogical_old(logical, old, key_changed);
	heap_freetuple(old);
}

/* ---- updates and deletions ---- */

const ZRecLogical *
zlogical_update(ZLogical *logical, const ZFormedRow *row)
{
	HeapTuple	tuple;

	if (!logical->wanted)
		return NULL;
	/* drop the data of an earlier plan that was not carried out */
	logical->tuples.len = logical->old_len;
	tuple = zdml_heap_tuple(logical->rel, row->bytes, row->len);
	zrec_logical_put_tuple(&logical->tuples, tuple);
	heap_freetuple(tuple);
	return told(logical, ZLOGICAL_UPDATE, 1);
}

const ZRecLogical *
zlogical_delete(ZLogical *logical)
{
	if (!logical->wanted)
		return NULL;
	logical->tuples.len = logical->old_len;
	return told(logical, ZLOGICAL_DELETE, 1);
}
