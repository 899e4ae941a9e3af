/*
 * inspect_relation.c
 *		Opening tables for inspection, and copies of their pages.
 *
 * LOCKING: AccessShareLock on the table.  A page is share-locked while it is copied.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"

#include "zheap/base/catalog.h"
#include "zheap/page/page.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_relation.h"

#include "inspect_private.h"

/* ---- relations ---- */

/* Return the hint for a relation that is not a zheap table, or NULL. */
static const char *
hint_for(Relation rel)
{
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_INDEX:
		case RELKIND_PARTITIONED_INDEX:
			return "Specify the table of the index, or use the extensions pageinspect and amcheck for the index.";
		case RELKIND_PARTITIONED_TABLE:
			return "Specify one of its partitions.";
		case RELKIND_TOASTVALUE:
			return "Use the extension pageinspect for TOAST tables, which are heap tables.";
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
			if (RelationGetRelid(rel) == zundo_relation_oid())
				return "Use zheap.zheap_undo_records() for the undo relation.";
			return "Use the extension pageinspect for heap tables.";
	}
	return NULL;
}

Relation
zinspect_open(Oid relid)
{
	Relation	rel;

	zheap_require_preload();
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("there is no relation with OID %u", relid)));
	if (!zheap_is_table(rel))
	{
		const char *hint = hint_for(rel);

		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a zheap table", RelationGetRelationName(rel)),
				 hint ? errhint("%s", _(hint)) : 0));
	}
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions"),
				 errdetail("Their pages are in the memory of those sessions."),
				 errhint("Call the function in the session that has created the table.")));
	if (RecoveryInProgress() && !RelationIsPermanent(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery"),
				 errhint("Call the function on the primary server.")));
	/* requires that no buffer is locked */
	zundo_open_for(rel);
	return rel;
}

void
zinspect_close(Relation rel)
{
	relation_close(rel, AccessShareLock);
}

BlockNumber
inspect_block(Relation rel, int64 block)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

	if (block < 0 || block >= (int64) nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number %lld is out of range for relation \"%s\"",
						(long long) block, RelationGetRelationName(rel)),
				 errdetail_plural("The table has %u block, numbered from 0.",
								  "The table has %u blocks, numbered from 0.",
								  nblocks, nblocks)));
	return (BlockNumber) block;
}

/* ---- pages ---- */

void
zinspect_copy(Relation rel, BlockNumber block, Page copy)
{
	Buffer		buffer = ReadBuffer(rel, block);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

typedef struct Copying
{
	Relation	rel;
	BlockNumber block;
	Page		copy;
} Copying;

static void
copy_page(void *arg)
{
	Copying    *copying = arg;

	zinspect_copy(copying->rel, copying->block, copying->copy);
}

/* A page that the server refuses to read is in no buffer, so the bytes on disk do not change. */
bool
inspect_copy_any(Relation rel, BlockNumber block, Page copy)
{
	Copying		copying = {rel, block, copy};
	PGIOAlignedBlock bytes;
	ErrorData  *error = zrollback_try(copy_page, &copying);

	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED)
		ReThrowError(error);
	FreeErrorData(error);
	smgrread(RelationGetSmgr(rel), MAIN_FORKNUM, block, bytes.data);
	memcpy(copy, bytes.data, BLCKSZ);
	return false;
}

void
inspect_refuse_page(Relation rel, BlockNumber block, Page page)
{
	const char *wrong;

	if (PageIsNew(page))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("block %u of table \"%s\" is a page of zeros", block,
						RelationGetRelationName(rel)),
				 errdetail("The page was added to the table and not written yet, or its contents were lost."),
				 errhint("Use zheap.zheap_page_header() to show the page.")));
	if (zpage_is_overflow(page))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("block %u of table \"%s\" is not a page of rows", block,
						RelationGetRelationName(rel)),
				 errdetail("It has more transaction slots of block %u.",
						   zpage_overflow_body(page)->table_block),
				 errhint("Use zheap.zheap_page_slots() with block %u to show them.",
						 zpage_overflow_body(page)->table_block)));
	wrong = zpage_check_header(page);
	zheap_corrupt(rel, block, InvalidOffsetNumber, "%s", wrong ? wrong : "page has changed");
}

void
inspect_view(ZPageView *view, BlockNumber block)
{
	PGAlignedBlock copy;

	if (zview_read(view, block, NULL))
		return;
	zinspect_copy(view->rel, block, copy.data);
	inspect_refuse_page(view->rel, block, copy.data);
}
