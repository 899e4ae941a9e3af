/*
 * verify_index.c
 *		A table's indexes, each looked at as its access method needs.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "zheap/base/base.h"

#include "verify_private.h"

static const VerifyMethod *const methods[] = {
	&verify_btree, &verify_hash, &verify_gist, &verify_spgist, &verify_gin, &verify_brin
};

/* NULL: none is known. */
static const VerifyMethod *
method_of(Relation index)
{
	for (int i = 0; i < (int) lengthof(methods); i++)
	{
		if (methods[i]->am == index->rd_rel->relam)
			return methods[i];
	}
	return NULL;
}

/* ---- which indexes ---- */

/* Was this row of a catalog written before all that the snapshot does not see? */
static bool
row_is_older(HeapTuple tuple)
{
	return TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data), TransactionXmin);
}

/*
 * Is the file of the index, too?  One that was built later has what snapshots of the primary
 * server needed.
 */
static bool
was_there(Relation index)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(index)));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = row_is_older(tuple);
	ReleaseSysCache(tuple);
	return result && row_is_older(index->rd_indextuple);
}

/* Is the index complete for the snapshot? */
static bool
is_complete(Relation index)
{
	Form_pg_index form = index->rd_index;

	return form->indisvalid && form->indisready && form->indislive &&
		(!form->indcheckxmin || row_is_older(index->rd_indextuple)) &&
		(!TransactionStartedDuringRecovery() || was_there(index));
}

static bool
is_to_be_read(Relation index)
{
	if (!is_complete(index))
		return false;
	if (method_of(index) != NULL)
		return true;
	ereport(NOTICE,
			(errmsg("index \"%s\" is not looked at", RelationGetRelationName(index)),
			 errdetail("Its access method is \"%s\".", get_am_name(index->rd_rel->relam))));
	return false;
}

/* ---- before the table, and behind it ---- */

static void
read_index(Verify *verify, void (*read) (Verify *verify))
{
	verify->block = InvalidBlockNumber;
	verify->offnum = InvalidOffsetNumber;
	if (verify->index->readable && read != NULL)
		verify->index->readable = verify_step(verify, "index", read);
}

static void
open_index(Verify *verify, Oid oid, int memory)
{
	Relation	rel = index_open(oid, AccessShareLock);
	VerifyIndex *index = &verify->indexes[verify->nindexes];

	if (!is_to_be_read(rel))
	{
		index_close(rel, AccessShareLock);
		return;
	}
	verify->nindexes++;
	verify->index = index;
	index->rel = rel;
	index->method = method_of(rel);
	index->readable = true;
	index->info = BuildIndexInfo(rel);
	index->predicate = ExecPrepareQual(index->info->ii_Predicate, verify->estate);
	index->freed = zheap_pointers_freed(verify->rel);
	index->method->begin(index, memory);
	read_index(verify, index->method->read);
	index->readable &= !index->unknown;
	if (index->readable && index->tids != NULL)
		verify_tids_ready(index);
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
		open_index(verify, lfirst_oid(cell),
				   Max(maintenance_work_mem / list_length(oids), 1024));
	list_free(oids);
}

void
verify_reread_indexes(Verify *verify)
{
	for (int i = 0; i < verify->nindexes; i++)
	{
		verify->index = &verify->indexes[i];
		read_index(verify, verify->index->method->read_again);
	}
	verify_tids_beyond(verify);
}

void
verify_close_indexes(Verify *verify)
{
	for (int i = 0; i < verify->nindexes; i++)
	{
		verify->indexes[i].method->end(&verify->indexes[i]);
		index_close(verify->indexes[i].rel, AccessShareLock);
	}
	verify->nindexes = 0;
}

/* ---- rows ---- */

void
verify_in_indexes(Verify *verify)
{
	ResetPerTupleExprContext(verify->estate);
	for (int i = 0; i < verify->nindexes; i++)
	{
		VerifyIndex *index = &verify->indexes[i];

		verify->index = index;
		if (index->readable && verify_form_key(verify, index) && !index->method->has(verify))
			verify_report(verify, "index", "the row is not in index \"%s\"",
						  RelationGetRelationName(index->rel));
	}
}
