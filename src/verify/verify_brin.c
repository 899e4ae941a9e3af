/*
 * verify_brin.c
 *		Check that a BRIN index finds each row that the snapshot sees, by the row's own values.
 *
 * The operator class's function is asked, column by column, whether the summary of the row's range
 * of pages may contain "= value", or IS NULL.  Columns whose operator class does not have the
 * type's equality are skipped.
 *
 * A range's summary is read when its first row is checked.  Rows that the snapshot sees were added
 * to it before the snapshot was taken, and a backend that summarizes a range anew adds all
 * versions that some snapshot of this server may see (src/index/README.md).  On a standby nothing
 * is checked.
 *
 * LOCKING: pages of the index, shared, while a summary is copied.
 */
#include "postgres.h"

#include "access/brin_internal.h"
#include "access/brin_revmap.h"
#include "access/brin_tuple.h"
#include "access/tupmacs.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "zheap/base/pg_compat_index.h"

#include "verify_private.h"

/* Equality operator of a column. */
typedef struct BrinColumn
{
	StrategyNumber strategy;	/* InvalidStrategy if the operator class has none */
	Oid			function;
} BrinColumn;

struct VerifyBrin
{
	BrinDesc   *desc;
	BlockNumber pages_per_range;
	BlockNumber range;			/* first block of the current range, or invalid */
	BrinMemTuple *summary;
	bool		is_summary;		/* true if "summary" is this range's */
	BrinColumn	columns[INDEX_MAX_KEYS];
};

/*
 * Return the equality of column i by the operator family, for the type by which the access method
 * looks up operators: none for polymorphic operator classes.
 */
static BrinColumn
column_equality(Relation index, int i)
{
	Oid			type = index->rd_opcintype[i];
	Oid			family = index->rd_opfamily[i];
	Oid			equals = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	BrinColumn	column = {InvalidStrategy, InvalidOid};
	int			strategy;

	if (!OidIsValid(equals) || TupleDescAttr(RelationGetDescr(index), i)->atttypid != type)
		return column;
	strategy = get_op_opfamily_strategy(equals, family);
	if (strategy == 0 || get_opfamily_member(family, type, type, strategy) != equals)
		return column;
	column.strategy = strategy;
	column.function = get_opcode(equals);
	return column;
}

/* ---- a range's summary ---- */

/* Return whether the values of a summary on disk are within its "size" bytes. */
static bool
summary_fits(BrinDesc *desc, BrinTuple *summary, Size size)
{
	const char *start = (char *) summary + BrinTupleDataOffset(summary);
	const char *end = (char *) summary + size;
	uint8	   *nulls = (uint8 *) ((char *) summary + SizeOfBrinTuple);
	const char *at = start;

	for (int i = 0; i < desc->bd_tupdesc->natts; i++)
	{
		/* all are null: nothing is stored */
		if (BrinTupleHasNulls(summary) && !att_isnull(i, nulls))
			continue;
		for (int k = 0; k < desc->bd_info[i]->oi_nstored; k++)
		{
			TypeCacheEntry *type = desc->bd_info[i]->oi_typcache[k];

			at = verify_value_end(start, at, end, type->typlen, type->typalign);
			if (at == NULL)
				return false;
		}
	}
	return true;
}

/*
 * Return whether the values of a summary in memory are whole, as far as they have a structure of
 * their own, which the operator class reads without checks.
 */
static bool
values_fit(BrinDesc *desc, BrinMemTuple *summary)
{
	for (int i = 0; i < desc->bd_tupdesc->natts; i++)
	{
		BrinOpcInfo *info = desc->bd_info[i];
		Oid			type = TupleDescAttr(desc->bd_tupdesc, i)->atttypid;

		for (int k = 0; k < info->oi_nstored && !summary->bt_columns[i].bv_allnulls; k++)
		{
			if (!verify_summary_fits(info->oi_typcache[k]->type_id, type,
									 summary->bt_columns[i].bv_values[k]))
				return false;
		}
	}
	return true;
}

static void
report_summary(Verify *verify)
{
	verify_damaged("the summary of block %u in index \"%s\" is damaged",
				   verify->index->brin->range, RelationGetRelationName(verify->index->rel));
}

/* A step: read the summary of the range that verify->block is in. */
static void
read_summary(Verify *verify)
{
	VerifyBrin *brin = verify->index->brin;
	BlockNumber pages;
	BrinRevmap *revmap = brinRevmapInitialize(verify->index->rel, &pages);
	Buffer		buffer = InvalidBuffer;
	OffsetNumber off;
	Size		size;
	Size		copied = 0;
	BrinTuple  *tuple = brinGetTupleForHeapBlock(revmap, verify->block, &buffer, &off, &size,
												 BUFFER_LOCK_SHARE);

	if (tuple)
	{
		tuple = brin_copy_tuple(tuple, size, NULL, &copied);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	brinRevmapTerminate(revmap);
	if (tuple == NULL)
		return;
	if (!summary_fits(brin->desc, tuple, size))
		report_summary(verify);
	brin->summary->bt_placeholder = false;
	brin->summary = brin_deform_tuple(brin->desc, tuple, brin->summary);
	if (!values_fit(brin->desc, brin->summary))
		report_summary(verify);
	brin->is_summary = !brin->summary->bt_placeholder;
}

static void
use_range(Verify *verify)
{
	VerifyBrin *brin = verify->index->brin;
	BlockNumber range = verify->block - verify->block % brin->pages_per_range;

	if (brin->range == range)
		return;
	brin->range = range;
	brin->is_summary = false;
	if (!verify_step(verify, "index", read_summary))
		brin->is_summary = false;
}

/* ---- rows ---- */

/* Return whether the summary of column i may contain the current row's value. */
static bool
column_matches(VerifyIndex *index, int i)
{
	VerifyBrin *brin = index->brin;
	BrinValues *summary = &brin->summary->bt_columns[i];
	FmgrInfo   *consistent = index_getprocinfo(index->rel, i + 1, BRIN_PROCNUM_CONSISTENT);
	Oid			collation = index->rel->rd_indcollation[i];
	ScanKeyData key;
	ScanKey		keys = &key;

	if (index->isnull[i])
		return summary->bv_allnulls || summary->bv_hasnulls ||
			!brin->desc->bd_info[i]->oi_regular_nulls;
	if (brin->columns[i].strategy == InvalidStrategy)
		return true;
	if (summary->bv_allnulls)
		return false;
	ScanKeyEntryInitialize(&key, 0, i + 1, brin->columns[i].strategy, index->rel->rd_opcintype[i],
						   collation, brin->columns[i].function, index->values[i]);
	if (consistent->fn_nargs >= 4)
		return DatumGetBool(FunctionCall4Coll(consistent, collation,
											  PointerGetDatum(brin->desc),
											  PointerGetDatum(summary), PointerGetDatum(&keys),
											  Int32GetDatum(1)));
	return DatumGetBool(FunctionCall3Coll(consistent, collation, PointerGetDatum(brin->desc),
										  PointerGetDatum(summary), PointerGetDatum(&key)));
}

/* Return whether the range's summary matches the row in all columns, or cannot be judged. */
static bool
brin_has(Verify *verify)
{
	VerifyIndex *index = verify->index;
	VerifyBrin *brin = index->brin;

	/* on a standby, a snapshot may be older than a summary that was made anew */
	if (TransactionStartedDuringRecovery())
		return true;
	use_range(verify);
	if (!brin->is_summary)
		return true;
	if (brin->summary->bt_empty_range)
		return false;
	for (int i = 0; i < brin->desc->bd_tupdesc->natts; i++)
	{
		if (!column_matches(index, i))
			return false;
	}
	return true;
}

/* ---- the method ---- */

/* A step: read the index's metapage. */
static void
read_brin(Verify *verify)
{
	VerifyIndex *index = verify->index;

	/* the metapage contains the number of pages of a range */
	brinRevmapTerminate(brinRevmapInitialize(index->rel, &index->brin->pages_per_range));
	if (index->brin->pages_per_range == 0)
		verify_damaged("index \"%s\" has ranges of no pages", RelationGetRelationName(index->rel));
}

static void
begin_brin(VerifyIndex *index, int memory)
{
	index->brin = palloc0(sizeof(VerifyBrin));
	index->brin->range = InvalidBlockNumber;
	index->brin->desc = brin_build_desc(index->rel);
	index->brin->summary = brin_new_memtuple(index->brin->desc);
	for (int i = 0; i < index->brin->desc->bd_tupdesc->natts; i++)
		index->brin->columns[i] = column_equality(index->rel, i);
}

static void
end_brin(VerifyIndex *index)
{
	brin_free_desc(index->brin->desc);
	pfree(index->brin);
}

const VerifyMethod verify_brin = {
	.am = BRIN_AM_OID,.begin = begin_brin,.read = read_brin,.has = brin_has,.end = end_brin
};
