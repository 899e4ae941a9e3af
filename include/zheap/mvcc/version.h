/*
 * version.h
 *		The identity of one version of a row.
 */
#ifndef ZHEAP_VERSION_H
#define ZHEAP_VERSION_H

#include "postgres.h"

#include "access/transam.h"

#include "zheap/page/page_format.h"

/*
 * What the system columns of a version say.  The creator is invalid for a
 * version that is visible to all (its xmin reads as FrozenTransactionId).
 */
typedef struct ZVersion
{
	FullTransactionId fxid;		/* who made this version */
	ZUndoPtr	undo;			/* the record of its making, or near it */
	CommandId	cmin;			/* valid only for versions of our own transaction */
	TransactionId xmax;			/* who superseded, deleted or locked it, or 0 */
	CommandId	cmax;
} ZVersion;

#endif							/* ZHEAP_VERSION_H */
