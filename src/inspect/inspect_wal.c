/*
 * inspect_wal.c
 *		Find the WAL record that ends at an LSN: it shows which code has changed a page last.
 *
 * LOCKING: none.  WAL is read from its files.
 */
#include "postgres.h"

#include "access/rmgr.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "miscadmin.h"

#include "zheap/base/pg_compat_wal.h"
#include "zheap/rollback/rollback.h"

#include "inspect_private.h"

typedef struct Search
{
	XLogRecPtr	begin;			/* beginning of a segment */
	XLogRecPtr	end;			/* end of the record */
	char	   *found;			/* allocated in "context" */
	MemoryContext context;
} Search;

static char *
describe_record(XLogReaderState *reader)
{
	RmgrData	rmgr = GetRmgr(XLogRecGetRmid(reader));
	const char *name = rmgr.rm_identify(XLogRecGetInfo(reader));

	return psprintf("%s/%s of transaction %u", rmgr.rm_name, name ? name : "UNKNOWN",
					XLogRecGetXid(reader));
}

static void
search_with(XLogReaderState *reader, Search *search)
{
	char	   *error = NULL;
	MemoryContext old;

	if (XLogRecPtrIsInvalid(XLogFindNextRecord(reader, search->begin, &error)))
		return;
	while (XLogReadRecord(reader, &error) != NULL && reader->EndRecPtr < search->end)
		CHECK_FOR_INTERRUPTS();
	if (error != NULL || reader->EndRecPtr != search->end)
		return;
	old = MemoryContextSwitchTo(search->context);
	search->found = describe_record(reader);
	MemoryContextSwitchTo(old);
}

/* Search from the first record of the segment on; called in a subtransaction. */
static void
search_from(void *arg)
{
	Search	   *search = arg;
	ReadLocalXLogPageNoWaitPrivate *private = palloc0(sizeof(ReadLocalXLogPageNoWaitPrivate));
	XLogReaderRoutine routine = {
		.page_read = read_local_xlog_page_no_wait,
		.segment_open = wal_segment_open,
		.segment_close = wal_segment_close
	};
	XLogReaderState *reader = XLogReaderAllocate(wal_segment_size, NULL, &routine, private);

	if (reader == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	/* the reader's open file belongs to no resource owner */
	PG_TRY();
	{
		search_with(reader, search);
	}
	PG_FINALLY();
	{
		XLogReaderFree(reader);
	}
	PG_END_TRY();
}

static char *
find_from(XLogRecPtr begin, XLogRecPtr end)
{
	Search		search = {begin, end, NULL, CurrentMemoryContext};
	ErrorData  *error = zrollback_try(search_from, &search);

	/* the segment does not exist any more, or cannot be read */
	if (error != NULL)
		FreeErrorData(error);
	return search.found;
}

/* If the record begins before the segment that it ends in, search from the segment before. */
char *
zinspect_record_that_ends(XLogRecPtr end)
{
	XLogRecPtr	begin;
	char	   *found;

	if (end <= (XLogRecPtr) wal_segment_size ||
		end > (RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetXLogInsertRecPtr()))
		return NULL;
	if (!RecoveryInProgress())
		XLogFlush(end);
	begin = end - 1 - XLogSegmentOffset(end - 1, wal_segment_size);
	found = find_from(begin, end);
	if (found == NULL && begin >= 2 * (XLogRecPtr) wal_segment_size)
		found = find_from(begin - wal_segment_size, end);
	return found;
}
