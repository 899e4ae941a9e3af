/*
 * am_relation.c
 *		Files of a table, and its toast table.
 *
 * Storage is created, truncated and copied by the server's functions, which also log this, and
 * undo it if the transaction aborts.
 *
 * LOCKING: a file is given away, truncated or copied under AccessExclusiveLock on the table, after
 * waiting for sweeps of the file (A1).
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

/* A1, first half; the other is zrollback_file_wait() (rollback_file_lock.c). */
static void
assert_locked(Relation rel)
{
	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));
	Assert(!zheap_holds_buffer_lock()); /* L1 */
}

/*
 * Slots hold 64-bit transaction ids, so no page needs freezing: relfrozenxid and relminmxid are
 * invalid, as for an index.
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

	/* TRUNCATE: the old file will be dropped */
	if (rel->rd_locator.relNumber != locator->relNumber && !RelationUsesLocalBuffers(rel))
	{
		assert_locked(rel);
		zrollback_file_wait(rel->rd_locator);
	}

	*freezeXid = InvalidTransactionId;
	*minmulti = InvalidMultiXactId;

	smgr = RelationCreateStorage(*locator, persistence, true);

	/*
	 * Create an empty init fork, to which an unlogged table is reset.  It must exist after any
	 * crash.  So it is logged even with wal_level = minimal (replay may drop the directory that
	 * it is in), and synced at once, as a checkpoint that has begun may not include it.
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
	/* the file stays the same, but its line pointers will be reused for other rows */
	zheap_note_pointers_freed(rel);
	RelationTruncate(rel, 0);
}

/* Copy a fork other than the main one, if it exists. */
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
 * Roll back all aborted rows: undo that is still to be applied names the old file.  The table is
 * locked exclusively, so no other transaction adds any.
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
 * Undo pointers and index entries name blocks, never files.  So a verbatim copy replaces the old
 * file, once no aborted rows are left.
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

	/* the copy reads the files, past the buffers */
	FlushRelationBuffers(rel);

	RelationCreateStorage(*locator, rel->rd_rel->relpersistence, true);
	RelationCopyStorage(RelationGetSmgr(rel), target, MAIN_FORKNUM,
						rel->rd_rel->relpersistence);
	zundo_note_redo();			/* RelationCopyStorage() has logged images of the pages */
	/* A2 */
	Assert(smgrnblocks(target, MAIN_FORKNUM) == RelationGetNumberOfBlocks(rel));
	for (fork = MAIN_FORKNUM + 1; fork <= MAX_FORKNUM; fork++)
		fork_copy(rel, target, fork);

	RelationDropStorage(rel);
	smgrclose(target);
}

/*
 * A toast table is needed if the table has a toastable column and a row may exceed the threshold.
 * As heap's function, but without padding between columns.
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
	/* A4, by zam_relation_toast_am() */
	Assert(toastrel->rd_tableam == GetHeapamTableAmRoutine());
	Assert(sliceoffset >= 0 && slicelength >= 0 && sliceoffset + slicelength <= attrsize);
	heap_fetch_toast_slice(toastrel, valueid, attrsize, sliceoffset, slicelength, result);
}
