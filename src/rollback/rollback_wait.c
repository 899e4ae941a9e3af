/*
 * rollback_wait.c
 *		Waits while rolling back without undo: for other transactions, and for locks.
 *
 * They are bounded, because the undo relation is locked meanwhile.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procarray.h"

#include "rollback_private.h"

bool
zrollback_nap(int *naps)
{
	if (*naps == 0)
		return false;
	CHECK_FOR_INTERRUPTS();
	pg_usleep(10000);
	(*naps)--;
	return true;
}

bool
zrollback_wait_for_older(FullTransactionId next)
{
	int			naps = ZROLLBACK_NAPS;

	while (FullTransactionIdPrecedes(zfxid_from_xid(GetOldestActiveTransactionId(false, true)),
									 next))
	{
		if (!zrollback_nap(&naps))
			return false;
	}
	return true;
}
