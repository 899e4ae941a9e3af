/*
 * zheap_fxid.c
 *		32-bit transaction ids to 64 bits.
 *
 * An xid means the one of its 2^32 namesakes that lies within 2^31 of the next
 * xid.  Those asked about here are never newer than that one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"

#include "zheap/base/base.h"

static FullTransactionId
widen(TransactionId xid, FullTransactionId next)
{
	uint32		epoch = EpochFromFullTransactionId(next);
	FullTransactionId fxid;

	if (!TransactionIdIsNormal(xid))
		return FullTransactionIdFromEpochAndXid(0, xid);
	if (xid > XidFromFullTransactionId(next))
	{
		/* in the first epoch nothing is older than the first xid */
		Assert(epoch > 0);
		epoch--;
	}
	fxid = FullTransactionIdFromEpochAndXid(epoch, xid);
	/* F1 */
	Assert(FullTransactionIdPrecedesOrEquals(fxid, next));
	Assert(U64FromFullTransactionId(next) - U64FromFullTransactionId(fxid) <=
		   (uint64) 1 << 31);
	return fxid;
}

FullTransactionId
zfxid_from_xid(TransactionId xid)
{
	return widen(xid, ReadNextFullTransactionId());
}

/*
 * As GetNewTransactionId() decides, read without its lock: what is true a moment
 * later is that one's business.
 */
bool
zheap_xids_are_refused(void)
{
	TransactionId next = XidFromFullTransactionId(ReadNextFullTransactionId());

	return IsUnderPostmaster && TransactionIdFollowsOrEquals(next, TransamVariables->xidStopLimit);
}

/*
 * Only the startup process moves the counter during recovery, and it is the
 * one that asks: no lock needed.
 */
FullTransactionId
zfxid_from_xid_in_redo(TransactionId xid)
{
	return widen(xid, TransamVariables->nextXid);
}
