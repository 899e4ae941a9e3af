/*
 * rec_prune.c
 *		WAL record: space on a page is taken back.
 *
 * Block 0: table page.  Main data: PruneHeader.  Data of block 0: the offsets of
 * dead, trimmed and unused line pointers, 2 bytes each.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"

#include "zheap/record/record.h"

typedef struct PruneHeader
{
	TransactionId conflict;		/* 0- 3: snapshots that see this one as running
								 * must go, or invalid */
	uint16		ndead;			/* 4- 5 */
	uint16		ntrim;			/* 6- 7 */
	uint16		nunused;		/* 8- 9 */
} PruneHeader;

#define PRUNE_HEADER_SIZE	(offsetof(PruneHeader, nunused) + sizeof(uint16))

/* Nothing may be registered with no bytes. */
static void
register_offsets(const OffsetNumber *offsets, int n)
{
	if (n > 0)
		XLogRegisterBufData(ZREC_BLK_TABLE, (char *) offsets, n * sizeof(OffsetNumber));
}

XLogRecPtr
zrec_prune_emit(const ZPrunePlan *plan, Buffer buffer)
{
	static PruneHeader header;

	Assert(plan->ndead <= ZPAGE_MAX_OFFSET && plan->ntrim <= ZPAGE_MAX_OFFSET &&
		   plan->nunused <= ZPAGE_MAX_OFFSET);
	Assert(plan->ndead + plan->ntrim + plan->nunused > 0);
	Assert(zheap_buffer_is_exclusive(buffer));	/* W2 */
	header.conflict = zfxid_xid(plan->conflict);
	header.ndead = plan->ndead;
	header.ntrim = plan->ntrim;
	header.nunused = plan->nunused;

	XLogBeginInsert();
	XLogRegisterData((char *) &header, PRUNE_HEADER_SIZE);
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer, REGBUF_STANDARD);
	register_offsets(plan->dead, plan->ndead);
	register_offsets(plan->trim, plan->ntrim);
	register_offsets(plan->unused, plan->nunused);
	return XLogInsert(ZHEAP_RMGR_ID, ZREC_PRUNE);
}

/* Returns what follows them. */
static const char *
take_offsets(const char *in, OffsetNumber *offsets, int n)
{
	memcpy(offsets, in, n * sizeof(OffsetNumber));
	return in + n * sizeof(OffsetNumber);
}

/* The conflict first, and without the page's lock: it may wait for a standby's queries. */
void
zrec_prune_redo(XLogReaderState *record)
{
	PruneHeader header;
	Buffer		buffer;

	memcpy(&header, XLogRecGetData(record), PRUNE_HEADER_SIZE);
	zrec_resolve_conflict(record, header.conflict);
	if (XLogReadBufferForRedo(record, ZREC_BLK_TABLE, &buffer) == BLK_NEEDS_REDO)
	{
		Size		len;
		const char *in = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &len);
		ZPrunePlan	plan;

		plan.ndead = header.ndead;
		plan.ntrim = header.ntrim;
		plan.nunused = header.nunused;
		in = take_offsets(in, plan.dead, plan.ndead);
		in = take_offsets(in, plan.trim, plan.ntrim);
		in = take_offsets(in, plan.unused, plan.nunused);
		Assert(in == XLogRecGetBlockData(record, ZREC_BLK_TABLE, NULL) + len);
		zpage_prune_apply(BufferGetPage(buffer), &plan);
		PageSetLSN(BufferGetPage(buffer), record->EndRecPtr);
		MarkBufferDirty(buffer);
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

void
zrec_prune_desc(StringInfo buf, XLogReaderState *record)
{
	PruneHeader header;

	memcpy(&header, XLogRecGetData(record), PRUNE_HEADER_SIZE);
	appendStringInfo(buf, "conflict: %u, dead: %u, trimmed: %u, unused: %u",
					 header.conflict, header.ndead, header.ntrim, header.nunused);
}
