/*
 * zheap_fxid.c
 *		Widen 32-bit transaction ids to 64 bits.
 *
 * Of the 64-bit ids with the same lower half an xid means the one within 2^31 of the next xid.
 * The xids passed here are never newer than that one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"

#include "zheap/base/base.h"

/* Return the youngest id with that lower half that is not newer than "next" (F1). */
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
 * The condition of GetNewTransactionId(), read without its lock: a caller that then asks for an
 * xid gets the server's own error if the limit is reached meanwhile.
 */
bool
zheap_xids_are_refused(void)
{
	TransactionId next = XidFromFullTransactionId(ReadNextFullTransactionId());

	return IsUnderPostmaster && TransactionIdFollowsOrEquals(next, TransamVariables->xidStopLimit);
}

/* No lock: only the startup process, which is the caller, moves the counter during recovery. */
FullTransactionId
zfxid_from_xid_in_redo(TransactionId xid)
{
	return widen(xid, TransamVariables->nextXid);
}
