/*
 * mvcc_reconstruct.h
 *		Private to mvcc: rows of a private copy that have been reconstructed as versions
 *		whose maker the page's slots do not tell.
 */
#ifndef ZHEAP_MVCC_RECONSTRUCT_H
#define ZHEAP_MVCC_RECONSTRUCT_H

#include "zheap/mvcc/mvcc.h"

/*
 * Of a row, in the pass down the chain of one slot (mvcc_reconstruct.c):
 *
 *                 row_begin()                     reconstruct_change()
 *    +----------+ ---------> +-----------+ <-------------------------> +-----------+
 *    | ROW_REST |            | ROW_OWNER |   the version before: is    | ROW_CHAIN |
 *    +----------+ ---------> +-----------+   its maker known or not?   +-----------+
 *       ^       row_begin() of a marked row, to ROW_CHAIN                    |
 *       |                          |                                         |
 *       |   row_finish(): the header can tell;                               |
 *       |   row_remove(): no row;  row_leave(): as it was                    |
 *       +--------------------------+-----------------------------------------+
 *                                  |  row_finish(): the header cannot tell
 *                                  v
 *                            +-----------+
 *                            | ROW_NAMED |
 *                            +-----------+
 *
 * At the end of a pass no row is ROW_OWNER or ROW_CHAIN, or the whole copy is given up.
 */
typedef enum ZReconstructState
{
	ROW_REST = 0,				/* nothing to do, or done: the header tells it */
	ROW_OWNER,					/* the version is the slot owner's */
	ROW_CHAIN,					/* its or, if it has no record, of one before it */
	ROW_NAMED					/* done; see makers.  The header names the slot from
								 * which the row came */
} ZReconstructState;

/* Of a version that is ROW_NAMED. */
typedef struct ZReconstructMaker
{
	ZOwner		slot;			/* fxid, undo, upper_bound, next_*: as in ZRowVersion */
	uint16		slotno;
	bool		upper_bound;
	FullTransactionId next_fxid;
	CommandId	next_cid;
} ZReconstructMaker;

typedef struct ZReconstruct
{
	PGAlignedBlock before;		/* the view's page as it was */
	uint8		state[ZPAGE_MAX_OFFSET + 1];	/* ZReconstructState */
	ZReconstructMaker makers[ZPAGE_MAX_OFFSET + 1];
} ZReconstruct;

/* Let the version name the row's modifier; false: the row's header does. */
extern bool zreconstruct_name(const ZPageView *view, ZRowVersion *version);

extern void zreconstruct_free(ZPageView *view);

#endif							/* ZHEAP_MVCC_RECONSTRUCT_H */
