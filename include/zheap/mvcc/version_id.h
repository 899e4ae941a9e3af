/*
 * version.h
 *		The identity of one version of a row.
 */
#ifndef ZHEAP_VERSION_ID_H
#define ZHEAP_VERSION_ID_H

#include "postgres.h"

#include "access/transam.h"

#include "zheap/page/page_format.h"

/*
 * What the system columns of a version say.  The creator is invalid for a
 * version that is visible to all (its xmin reads as FrozenTransactionId).
 */
typedef struct ZVersionId
{
	FullTransactionId fxid;		/* the transaction that made this version */
	ZUndoPtr	undo;			/* the record of its making, or near it */
	CommandId	cmin;			/* valid only for versions of our own transaction */
	TransactionId xmax;			/* the one that superseded, deleted or locked it, or 0 */
	CommandId	cmax;
} ZVersionId;

#endif							/* ZHEAP_VERSION_ID_H */
