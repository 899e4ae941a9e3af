/*
 * verify_index.c
 *		Check a table's indexes, each by the functions for its access method.
 *
 * LOCKING: AccessShareLock on each index.
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

/* Return the functions for the index's access method, or NULL. */
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

/*
 * Return whether this row of a catalog is older than the oldest transaction that the snapshot may
 * not see.
 */
static bool
row_is_older(HeapTuple tuple)
{
	return TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data), TransactionXmin);
}

/*
 * Return whether index and file are older than the snapshot.  A later index was built for the
 * snapshots of the primary server only.
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

/* Return whether the index must have all rows that the snapshot sees. */
static bool
is_complete(Relation index)
{
	Form_pg_index form = index->rd_index;

	return form->indisvalid && form->indisready && form->indislive &&
		(!form->indcheckxmin || row_is_older(index->rd_indextuple)) &&
		(!TransactionStartedDuringRecovery() || was_there(index));
}

/* Return whether the index can be checked; NOTICE if its access method is not known. */
static bool
is_to_be_read(Relation index)
{
	if (!is_complete(index))
		return false;
	if (method_of(index) != NULL)
		return true;
	ereport(NOTICE,
			(errmsg("index \"%s\" is not checked", RelationGetRelationName(index)),
			 errdetail("Its access method is \"%s\".", get_am_name(index->rd_rel->relam))));
	return false;
}

/* ---- before the table is read, and after it ---- */

/* Run a step for the current index; it stays readable only if the step came to its end. */
static void
read_index(Verify *verify, void (*read) (Verify *verify))
{
	verify_reset_place(verify);
	if (verify->index->readable && read != NULL)
		verify->index->readable = verify_step(verify, "index", read);
}

/* Open, lock and read an index, with "memory" kB; ones that cannot be checked are closed again. */
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
