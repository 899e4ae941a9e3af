/*
 * inspect_verify_index.c
 *		Is each row that the snapshot sees in the table's B-trees, with its key?
 *
 * Before the table is read each index is read from end to end, and each entry, its key's values
 * and its TID, goes into a Bloom filter.  An entry that
 * the snapshot needs was there before the snapshot was taken, and is there for as long as
 * anybody needs it; so it does not matter what changes meanwhile.  A filter may take an entry for
 * there that is not, by a chance that depends on maintenance_work_mem, and never the other way
 * round.
 *
 * Values are compared as they are when they are whole and uncompressed, since one that is
 * compressed in the table may not be in the index.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/relscan.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/tid/tid.h"

#include "inspect_verify.h"

/* ---- an entry as bytes ---- */

static void
append_value(StringInfo bytes, Form_pg_attribute att, Datum value)
{
	if (att->attbyval)
		appendBinaryStringInfo(bytes, (const char *) &value, sizeof(value));
	else if (att->attlen == -1)
	{
		struct varlena *whole = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));
		int32		len = VARSIZE_ANY_EXHDR(whole);

		appendBinaryStringInfo(bytes, (const char *) &len, sizeof(len));
		appendBinaryStringInfo(bytes, VARDATA_ANY(whole), len);
	}
	else
		appendBinaryStringInfo(bytes, DatumGetPointer(value),
							   (int) datumGetSize(value, false, att->attlen));
}

/* Allocated in the current context. */
static StringInfo
entry_bytes(IndexTuple tuple, TupleDesc desc, ItemPointer tid)
{
	StringInfo	bytes = makeStringInfo();
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	OffsetNumber offnum = ztid_offset(tid);

	appendBinaryStringInfo(bytes, (const char *) &block, sizeof(block));
	appendBinaryStringInfo(bytes, (const char *) &offnum, sizeof(offnum));
	for (int i = 0; i < desc->natts; i++)
	{
		bool		isnull;
		Datum		value = index_getattr(tuple, i + 1, desc, &isnull);

		appendStringInfoChar(bytes, isnull ? 'n' : 'v');
		if (!isnull)
			append_value(bytes, TupleDescAttr(desc, i), value);
	}
	return bytes;
}

/* ---- reading the indexes ---- */

static void
read_entries(Verify *verify, VerifyIndex *index)
{
	IndexScanDesc scan = index_beginscan(verify->rel, index->rel, SnapshotAny, 0, 0);
	ItemPointer tid;

	scan->xs_want_itup = true;
	index_rescan(scan, NULL, 0, NULL, 0);
	while ((tid = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(verify->per_row);
		StringInfo	bytes;

		CHECK_FOR_INTERRUPTS();
		bytes = entry_bytes(scan->xs_itup, scan->xs_itupdesc, tid);
		bloom_add_element(index->entries, (unsigned char *) bytes->data, bytes->len);
		MemoryContextSwitchTo(old);
		MemoryContextReset(verify->per_row);
	}
	index_endscan(scan);
}

/* The one that is opened last. */
static void
read_last_index(Verify *verify)
{
	read_entries(verify, &verify->indexes[verify->nindexes - 1]);
}

/* Is the index complete for the snapshot? */
static bool
is_complete(Relation index)
{
	Form_pg_index form = index->rd_index;

	return index->rd_rel->relam == BTREE_AM_OID && form->indisvalid && form->indisready &&
		form->indislive &&
		(!form->indcheckxmin ||
		 TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin));
}

static void
open_index(Verify *verify, Oid oid, int memory)
{
	Relation	rel = index_open(oid, AccessShareLock);
	VerifyIndex *index = &verify->indexes[verify->nindexes];
	int64		rows;

	if (!is_complete(rel))
	{
		index_close(rel, AccessShareLock);
		return;
	}
	verify->nindexes++;
	index->rel = rel;
	index->info = BuildIndexInfo(rel);
	index->predicate = ExecPrepareQual(index->info->ii_Predicate, verify->estate);
	rows = (int64) RelationGetNumberOfBlocks(rel) * (BLCKSZ / 24);
	index->entries = bloom_create(Max(rows, 1), Max(memory, 1024), 0);
	if (!verify_step(verify, "index", read_last_index))
	{
		bloom_free(index->entries);
		index->entries = NULL;
	}
}

void
verify_open_indexes(Verify *verify)
{
	List	   *oids = RelationGetIndexList(verify->rel);
	ListCell   *cell;

	if (oids == NIL)
		return;
	verify->indexes = palloc0(sizeof(VerifyIndex) * list_length(oids));
	foreach(cell, oids)
		open_index(verify, lfirst_oid(cell), maintenance_work_mem / list_length(oids));
	list_free(oids);
}

void
verify_close_indexes(Verify *verify)
{
	for (int i = 0; i < verify->nindexes; i++)
	{
		if (verify->indexes[i].entries)
			bloom_free(verify->indexes[i].entries);
		index_close(verify->indexes[i].rel, AccessShareLock);
	}
	verify->nindexes = 0;
}

/* ---- rows ---- */

static bool
is_in_index(Verify *verify, VerifyIndex *index)
{
	TupleDesc	desc = RelationGetDescr(index->rel);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexTuple	tuple;
	StringInfo	bytes;

	GetPerTupleExprContext(verify->estate)->ecxt_scantuple = verify->slot;
	if (!ExecQual(index->predicate, GetPerTupleExprContext(verify->estate)))
		return true;
	FormIndexDatum(index->info, verify->slot, verify->estate, values, isnull);
	tuple = index_form_tuple(desc, values, isnull);
	bytes = entry_bytes(tuple, desc, &verify->slot->tts_tid);
	return !bloom_lacks_element(index->entries, (unsigned char *) bytes->data, bytes->len);
}

void
verify_in_indexes(Verify *verify)
{
	ResetPerTupleExprContext(verify->estate);
	for (int i = 0; i < verify->nindexes; i++)
	{
		VerifyIndex *index = &verify->indexes[i];

		if (index->entries != NULL && !is_in_index(verify, index))
			verify_report(verify, "index", "the row is not in index \"%s\"",
						  RelationGetRelationName(index->rel));
	}
}
