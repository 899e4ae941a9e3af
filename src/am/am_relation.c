/*
 * am_relation.c
 *		The files of a table, and its toast table.
 *
 * Storage is created, truncated and copied through core's functions, which also
 * log it and see to the end of the transaction.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "catalog/storage_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/lock/lock.h"
#include "zheap/page/row_format.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"

/* A1: what takes a file away keeps everybody else out, sweeps included (rollback_file_lock.c). */
static void
assert_locked(Relation rel)
{
	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));
	Assert(!zheap_holds_buffer_lock()); /* L1 */
}

/*
 * No transaction id in a page of ours needs freezing: slots hold 64 bits.  So
 * pg_class says that there is nothing to freeze, as for an index.
 */
void
zam_relation_set_new_file(Relation rel, const RelFileLocator *locator,
						  char persistence, TransactionId *freezeXid,
						  MultiXactId *minmulti)
{
	SMgrRelation smgr;

	zheap_require_preload();
	zam_default_note_made();
	Assert(OidIsValid(locator->relNumber));
	Assert(persistence == RELPERSISTENCE_PERMANENT || persistence == RELPERSISTENCE_UNLOGGED ||
		   persistence == RELPERSISTENCE_TEMP);

	/* TRUNCATE: the old file goes */
	if (rel->rd_locator.relNumber != locator->relNumber && !RelationUsesLocalBuffers(rel))
	{
		assert_locked(rel);
		zrollback_file_wait(rel->rd_locator);
	}

	*freezeXid = InvalidTransactionId;
	*minmulti = InvalidMultiXactId;

	smgr = RelationCreateStorage(*locator, persistence, true);

	/*
	 * What an unlogged table is reset to: empty.  The fork must be there after
	 * any crash, so it is logged even with wal_level = minimal (replay may drop
	 * the directory it is in), and synced, for a checkpoint that began before
	 * may not know of it.
	 */
	if (persistence == RELPERSISTENCE_UNLOGGED)
	{
		smgrcreate(smgr, INIT_FORKNUM, false);
		log_smgrcreate(locator, INIT_FORKNUM);
		smgrimmedsync(smgr, INIT_FORKNUM);
	}
	smgrclose(smgr);
}

void
zam_relation_nontransactional_truncate(Relation rel)
{
	assert_locked(rel);
	if (!RelationUsesLocalBuffers(rel))
		zrollback_file_wait(rel->rd_locator);
	zlock_own_forget(rel);
	/* the same file, but its line pointers will be other rows' */
	zheap_note_pointers_freed(rel);
	RelationTruncate(rel, 0);
}

/* Copy a fork other than the main one, if there is one. */
static void
fork_copy(Relation rel, SMgrRelation target, ForkNumber fork)
{
	char		persistence = rel->rd_rel->relpersistence;

	Assert(fork != MAIN_FORKNUM);
	if (!smgrexists(RelationGetSmgr(rel), fork))
		return;
	smgrcreate(target, fork, false);

	/* the init fork of an unlogged table is logged, its others are not */
	if (RelationIsPermanent(rel) ||
		(persistence == RELPERSISTENCE_UNLOGGED && fork == INIT_FORKNUM))
		log_smgrcreate(&zsmgr_locator(target), fork);
	RelationCopyStorage(RelationGetSmgr(rel), target, fork, persistence);
}

/*
 * Undo that is still to be applied names the old file.  Nobody else is at work on
 * the table, which is locked exclusively.
 */
static void
roll_back_all(Relation rel)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	BlockNumber block;

	zundo_open_for(rel);
	for (block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		zrollback_block(rel, block);
	}
}

/*
 * Row and undo pointers name blocks, never files, so that a verbatim copy is a
 * table as good as the old one, once no aborted rows are left.
 */
void
zam_relation_copy_data(Relation rel, const RelFileLocator *locator)
{
	SMgrRelation target = smgropen(*locator, rel->rd_backend);
	ForkNumber	fork;

	assert_locked(rel);
	if (!RelationUsesLocalBuffers(rel))
		zrollback_file_wait(rel->rd_locator);
	roll_back_all(rel);

	/* the files are copied without looking at the shared buffers */
	FlushRelationBuffers(rel);

	RelationCreateStorage(*locator, rel->rd_rel->relpersistence, true);
	RelationCopyStorage(RelationGetSmgr(rel), target, MAIN_FORKNUM,
						rel->rd_rel->relpersistence);
	zundo_note_redo();			/* it has logged images of the pages */
	/* A2: undo and index entries name blocks */
	Assert(smgrnblocks(target, MAIN_FORKNUM) == RelationGetNumberOfBlocks(rel));
	for (fork = MAIN_FORKNUM + 1; fork <= MAX_FORKNUM; fork++)
		fork_copy(rel, target, fork);

	RelationDropStorage(rel);
	smgrclose(target);
}

/*
 * A toast table is needed if the table has a toastable column and a row may
 * exceed the threshold, as on heap but for padding.
 */
bool
zam_relation_needs_toast_table(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int64		length = MAXALIGN(SizeofHeapTupleHeader + BITMAPLEN(desc->natts));
	bool		unlimited = false;
	bool		toastable = false;
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int32		maxlen = att->attlen;

		if (att->attisdropped)
			continue;
		if (att->attlen < 0)
		{
			maxlen = type_maximum_size(att->atttypid, att->atttypmod);
			if (att->attstorage != TYPSTORAGE_PLAIN)
				toastable = true;
		}
		if (maxlen < 0)
			unlimited = true;
		else
			length += maxlen;
	}

	return toastable && (unlimited || length > (int64) TOAST_TUPLE_THRESHOLD);
}

Oid
zam_relation_toast_am(Relation rel)
{
	return HEAP_TABLE_AM_OID;
}

void
zam_relation_fetch_toast_slice(Relation toastrel, Oid valueid, int32 attrsize,
							   int32 sliceoffset, int32 slicelength,
							   struct varlena *result)
{
	/* A4: zam_relation_toast_am has made it a heap table */
	Assert(toastrel->rd_tableam == GetHeapamTableAmRoutine());
	Assert(sliceoffset >= 0 && slicelength >= 0 && sliceoffset + slicelength <= attrsize);
	heap_fetch_toast_slice(toastrel, valueid, attrsize, sliceoffset, slicelength, result);
}
