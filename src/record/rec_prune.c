/*
 * rec_prune.c
 *		The WAL record of pruning: space on a page is freed.
 *
 * Block 0: table page.  Main data: ZRecPrune; "remembered", 8 bytes, or nothing.  Data of
 * block 0: the offsets of dead, trimmed and unused line pointers and of rows with one key
 * again, 2 bytes each.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "storage/bufmgr.h"

#include "rec_private.h"

/* Register the offsets; data of no bytes must not be registered. */
static void
register_offsets(const OffsetNumber *offsets, int n)
{
	if (n > 0)
		XLogRegisterBufData(ZREC_BLK_TABLE, (char *) offsets, n * sizeof(OffsetNumber));
}

XLogRecPtr
zrec_prune_emit(const ZPrunePlan *plan, Buffer buffer)
{
	static ZRecPrune header;

	Assert(plan->ndead <= ZPAGE_MAX_OFFSET && plan->ntrim <= ZPAGE_MAX_OFFSET &&
		   plan->nunused <= ZPAGE_MAX_OFFSET && plan->nsingle <= ZPAGE_MAX_OFFSET);
	Assert(plan->ndead + plan->ntrim + plan->nunused + plan->nsingle > 0);
	Assert(!FullTransactionIdIsValid(plan->remembered) || plan->nunused + plan->nsingle > 0);
	Assert(zheap_buffer_is_exclusive(buffer));	/* W2 */
	header.conflict = zfxid_xid(plan->conflict);
	header.ndead = plan->ndead;
	header.ntrim = plan->ntrim;
	header.nunused = plan->nunused;
	header.nsingle = plan->nsingle;

	XLogBeginInsert();
	XLogRegisterData((char *) &header, sizeof(header));
	if (FullTransactionIdIsValid(plan->remembered))
		XLogRegisterData((char *) &plan->remembered, sizeof(plan->remembered));
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer, REGBUF_STANDARD);
	register_offsets(plan->dead, plan->ndead);
	register_offsets(plan->trim, plan->ntrim);
	register_offsets(plan->unused, plan->nunused);
	register_offsets(plan->single, plan->nsingle);
	return zrec_insert(ZREC_PRUNE);
}

static bool
decode_prune(XLogReaderState *record, ZRecDecoded *d)
{
	ZRecPrune  *header = &d->prune.header;
	ZRecCursor	cur;

	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	zrec_take_raw(&cur, header, sizeof(*header));
	if (!zrec_cursor_done(&cur))
		zrec_take_raw(&cur, &d->prune.remembered, sizeof(d->prune.remembered));
	return zrec_cursor_done(&cur) && header->ndead <= ZPAGE_MAX_OFFSET &&
		header->ntrim <= ZPAGE_MAX_OFFSET && header->nunused <= ZPAGE_MAX_OFFSET &&
		header->nsingle <= ZPAGE_MAX_OFFSET;
}

static void
take_plan(XLogReaderState *record, const ZRecPrune *header, ZPrunePlan *plan)
{
	ZRecCursor	cur;
	Size		len;
	const char *data = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &len);

	zrec_cursor_init(&cur, data, data ? len : 0);
	plan->ndead = header->ndead;
	plan->ntrim = header->ntrim;
	plan->nunused = header->nunused;
	plan->nsingle = header->nsingle;
	zrec_take_raw(&cur, plan->dead, plan->ndead * sizeof(OffsetNumber));
	zrec_take_raw(&cur, plan->trim, plan->ntrim * sizeof(OffsetNumber));
	zrec_take_raw(&cur, plan->unused, plan->nunused * sizeof(OffsetNumber));
	zrec_take_raw(&cur, plan->single, plan->nsingle * sizeof(OffsetNumber));
	if (!zrec_cursor_done(&cur))
		zrec_replay_damaged(record);
}

/* The conflict comes first, without the page's lock: it may wait for a standby's queries. */
static void
redo_prune(XLogReaderState *record, ZRecDecoded *d)
{
	const ZRecPrune *header = &d->prune.header;
	ZPrunePlan	plan;
	Buffer		buffer;
	Page		page;

	zrec_resolve_conflict(record, header->conflict);
	/* an image of the page removes marks as well (N5) */
	if (header->nsingle > 0)
		zheap_note_marks_cleared();
	page = zredo_page(record, ZREC_BLK_TABLE, &buffer);
	if (page != NULL)
	{
		plan.remembered = d->prune.remembered;
		take_plan(record, header, &plan);
		zpage_prune_apply(page, &plan);
	}
	zredo_done(record, page, buffer);
}

static void
desc_prune(StringInfo buf, const ZRecDecoded *d)
{
	const ZRecPrune *header = &d->prune.header;

	appendStringInfo(buf, "conflict: %u, dead: %u, trimmed: %u, unused: %u, with one key: %u",
					 header->conflict, header->ndead, header->ntrim, header->nunused,
					 header->nsingle);
	if (FullTransactionIdIsValid(d->prune.remembered))
		appendStringInfo(buf, ", remembered: %u", zfxid_xid(d->prune.remembered));
}

const ZRecKind zrec_prune_kind = {decode_prune, redo_prune, desc_prune};
