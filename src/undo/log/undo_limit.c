/*
 * undo_limit.c
 *		The limit of undo in use: zheap.undo_max_size.
 *
 * It counts extents in use, not the length of the file, which may have grown under another
 * limit.
 *
 * LOCKING: none.  What is in use is exact only with the database locked.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/*
 * The last eighth of zheap.undo_max_size is left to transactions with less undo than that, so
 * that one that runs away does not make all others fail.  A transaction with this many extents
 * is large in any case.
 */
#define LARGE_TRANSACTION	16

/* Return whether this transaction may not use the last eighth. */
static bool
is_large_transaction(void)
{
	uint64		reserve = (uint64) zheap_undo_max_size * 1024 * 1024 / 8;

	return MyUndo.extents >= LARGE_TRANSACTION ||
		(uint64) MyUndo.extents * ZUNDO_EXTENT_BLOCKS * BLCKSZ >= reserve;
}

uint64
zundo_limit_bytes(void)
{
	uint64		limit;

	if (zheap_undo_max_size <= 0)
		return PG_UINT64_MAX;
	limit = (uint64) zheap_undo_max_size * 1024 * 1024;
	if (is_large_transaction())
		limit -= limit / 8;
	return limit;
}

uint32
zundo_limit_excess(uint32 more)
{
	uint64		allowed = zundo_limit_bytes() / (ZUNDO_EXTENT_BLOCKS * BLCKSZ);
	uint64		wanted = (uint64) zundo_extents_used(MyUndo.db) + more;

	return wanted > allowed ? (uint32) (wanted - allowed) : 0;
}

/*
 * The xid that we assign makes the next snapshots newer: undo that was rolled back waits for
 * those, and if all writers are at the limit no other transaction assigns one.
 */
void
zundo_limit_report(void)
{
	uint64		bytes = (uint64) zundo_extents_used(MyUndo.db) * ZUNDO_EXTENT_BLOCKS * BLCKSZ;
	unsigned long long used = bytes / 1024;
	char	   *holder;
	StringInfoData detail;

	/*
	 * it reads catalogs: not if an operation needs more than zundo_prepare() has found, under a
	 * lock (L2)
	 */
	holder = InterruptHoldoffCount > 0 ? NULL : zundo_describe_holder();

	initStringInfo(&detail);
	if (is_large_transaction())
		appendStringInfo(&detail, _("%llu kB of undo are in use, and the rest is reserved for transactions with less undo than this one."),
						 used);
	else
		appendStringInfo(&detail, _("%llu kB of undo are in use."), used);
	if (holder != NULL)
		appendStringInfo(&detail, "  %s", holder);

	if (!zheap_xids_are_refused())
		(void) GetCurrentTransactionId();
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("undo in use would exceed \"zheap.undo_max_size\" (%d MB)",
					zheap_undo_max_size),
			 errdetail_internal("%s", detail.data),
			 errhint("End the transactions that the view zheap.zheap_undo_holders shows, change fewer rows in one transaction, or raise \"zheap.undo_max_size\".  "
					 "If no worker rolls back aborted transactions, run VACUUM on the undo relation.")));
}
