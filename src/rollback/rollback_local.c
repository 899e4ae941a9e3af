/*
 * rollback_local.c
 *		Sweep the undo of this backend's temporary tables.
 *
 * Like rollback_sweep.c, but for one backend: no table is locked by others, and only one
 * transaction is concerned.
 *
 * Files are rolled back, whatever the catalog says of their tables: a table that this
 * transaction has dropped or truncated has its file again when that is undone.  Only our own
 * session uses the files, so no lock is needed.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "zheap/mvcc/status.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_read.h"
#include "rollback_private.h"

typedef struct LocalSweep
{
	/* context, set by the records */
	ZXactStatus	status;
	Relation	rel;			/* NULL: the file is gone */
	BlockNumber block;
	bool		page_done;
} LocalSweep;

static ZFileRelation open_one;

static void
close_file(LocalSweep *sweep)
{
	zrollback_file_close(&open_one);
	sweep->rel = NULL;
}

static void
open_file(LocalSweep *sweep, RelFileLocator locator)
{
	const ZLocalFile *file;
	Relation	rel;

	if (sweep->rel && RelFileLocatorEquals(sweep->rel->rd_locator, locator))
		return;
	close_file(sweep);
	file = zundo_local_file(locator);
	rel = zrollback_file_describe(&open_one, locator, ProcNumberForTempRelations(), file->relid,
								  file->tableam);
	rel->rd_islocaltemp = true;
	rel->rd_rel->relkind = RELKIND_RELATION;
	rel->rd_rel->relpersistence = RELPERSISTENCE_TEMP;
	snprintf(NameStr(rel->rd_rel->relname), NAMEDATALEN, "%u", locator.relNumber);
	if (smgrexists(RelationGetSmgr(rel), MAIN_FORKNUM))
		sweep->rel = rel;
}

static void
sweep_local_record(LocalSweep *sweep, const ZUndoRecord *rec)
{
	if (rec->has_xact)
		sweep->status = zmvcc_xact_status(rec->fxid);
	if (rec->has_page)
	{
		open_file(sweep, rec->locator);
		sweep->block = rec->block;
	}
	if (rec->has_xact || rec->has_page)
		sweep->page_done = false;
	if (sweep->status != ZXACT_ABORTED || sweep->page_done)
		return;
	Assert(sweep->rel == NULL || RelationUsesLocalBuffers(sweep->rel));	/* R4 */
	if (sweep->rel)
		zrollback_block(sweep->rel, sweep->block);
	sweep->page_done = true;
}

void
zrollback_local_sweep(void)
{
	LocalSweep	sweep = {0};
	ZUndoReader reader;
	ZUndoPtr	ptr = zundo_local_first();
	bool		new_page;

	zundo_reader_open(&reader, CurrentMemoryContext, true);
	while (ptr != ZUNDO_INVALID)
	{
		ZUndoRecord rec;
		Size		len;
		const char *bytes;

		CHECK_FOR_INTERRUPTS();
		Assert(zundo_ptr_is_local(ptr));
		bytes = zundo_read(&reader, ptr, &len);
		if (bytes == NULL || zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, &rec) == 0)
			elog(ERROR, "local undo record at block %u, offset %u cannot be read",
				 zundo_ptr_block(ptr), zundo_ptr_offset(ptr));
		sweep_local_record(&sweep, &rec);
		ptr = zundo_next(&reader, ptr, &new_page);
		if (new_page && ptr != ZUNDO_INVALID)
			zundo_local_mark_applied(ptr);
	}
	zundo_reader_close(&reader);
	close_file(&sweep);
}
