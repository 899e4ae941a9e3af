/*
 * xact_local.c
 *		Going through the undo of temporary tables, for what was aborted.
 *
 * Like xact_sweep.c, but of one backend's own: no table is busy, and no
 * transaction but the one that is being looked at is in question.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/mvcc/mvcc.h"
#include "zheap/record/record.h"
#include "zheap/xact/xact.h"

typedef struct LocalSweep
{
	Relation   *rels;			/* the tables that there still are */
	int			nrels;

	/* context given by the records */
	ZXactStatus	status;
	Relation	rel;			/* NULL: dropped, or rewritten since */
	BlockNumber block;
	bool		page_done;
} LocalSweep;

/*
 * By OID: files of temporary tables cannot be looked up by number.  To open one
 * here is not to use it, as far as PREPARE TRANSACTION is concerned.
 */
static void
relations_open(LocalSweep *sweep)
{
	int			flags = MyXactFlags;
	const Oid  *relids;
	int			n = zundo_local_relations(&relids);

	sweep->rels = palloc(Max(n, 1) * sizeof(Relation));
	sweep->nrels = 0;
	for (int i = 0; i < n; i++)
	{
		Relation	rel = try_relation_open(relids[i], RowExclusiveLock);

		if (rel != NULL)
			sweep->rels[sweep->nrels++] = rel;
	}
	MyXactFlags = flags;
}

static void
relations_close(LocalSweep *sweep)
{
	for (int i = 0; i < sweep->nrels; i++)
		relation_close(sweep->rels[i], RowExclusiveLock);
	pfree(sweep->rels);
}

static Relation
relation_find(LocalSweep *sweep, ZRelLocator locator)
{
	for (int i = 0; i < sweep->nrels; i++)
	{
		if (RelFileNodeEquals(zrel_locator(sweep->rels[i]), locator))
			return sweep->rels[i];
	}
	return NULL;
}

static void
sweep_record(LocalSweep *sweep, const ZUndoRecord *rec)
{
	if (rec->has_xact)
		sweep->status = zmvcc_xact_status(rec->fxid);
	if (rec->has_page)
	{
		sweep->rel = relation_find(sweep, rec->locator);
		sweep->block = rec->block;
	}
	if (rec->has_xact || rec->has_page)
		sweep->page_done = false;
	if (sweep->status != ZXACT_ABORTED || sweep->page_done)
		return;
	if (sweep->rel)
		zxact_roll_back_page(sweep->rel, sweep->block);
	sweep->page_done = true;
}

void
zxact_local_sweep(void)
{
	LocalSweep	sweep = {0};
	ZUndoReader reader;
	ZUndoPtr	ptr = zundo_local_first();
	bool		new_page;

	relations_open(&sweep);
	zundo_reader_open(&reader, CurrentMemoryContext);
	while (ptr != ZUNDO_INVALID)
	{
		ZUndoRecord rec;
		Size		len;
		const char *bytes;

		CHECK_FOR_INTERRUPTS();
		bytes = zundo_read(&reader, ptr, &len);
		if (bytes == NULL || zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, &rec) == 0)
			elog(ERROR, "local undo record at block %u, offset %u cannot be read",
				 zundo_ptr_block(ptr), zundo_ptr_offset(ptr));
		sweep_record(&sweep, &rec);
		ptr = zundo_next(&reader, ptr, &new_page);
		if (new_page && ptr != ZUNDO_INVALID)
			zundo_local_mark_applied(ptr);
	}
	zundo_reader_close(&reader);
	relations_close(&sweep);
}
