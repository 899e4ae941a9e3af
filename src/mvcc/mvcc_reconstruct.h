/*
 * mvcc_reconstruct.h
 *		Private to mvcc: rows of a private copy that have been reconstructed as versions
 *		whose maker the page's slots do not name.
 */
#ifndef ZHEAP_MVCC_RECONSTRUCT_H
#define ZHEAP_MVCC_RECONSTRUCT_H

#include "zheap/mvcc/version.h"

/*
 * The state of a row during the pass down the chain of one slot (mvcc_reconstruct.c):
 *
 *                 row_begin()                     reconstruct_change()
 *    +----------+ ---------> +-----------+ <-------------------------> +-----------+
 *    | ROW_REST |            | ROW_OWNER |   the version before: is    | ROW_CHAIN |
 *    +----------+ ---------> +-----------+   its maker known or not?   +-----------+
 *       ^       row_begin() of a REUSED row, to ROW_CHAIN                    |
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
 * At the end of a pass no row is ROW_OWNER or ROW_CHAIN, or the copy becomes what it was.
 */
typedef enum ZReconstructState
{
	ROW_REST = 0,				/* nothing to do, or done: the row's header names the maker */
	ROW_OWNER,					/* the slot's owner made the version */
	ROW_CHAIN,					/* the owner made it or, if it has no record about it, an owner
								 * before */
	ROW_NAMED					/* done: makers[] has the maker; the header names the slot from
								 * which the row came */
} ZReconstructState;

/* The maker of a version that is ROW_NAMED. */
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

/*
 * Set the version's modifier, slot and successor from makers[].  Return false if the row's
 * header names the modifier.
 */
extern bool zreconstruct_name(const ZPageView *view, ZRowVersion *version);

/* Free the view's reconstruction, if it has one. */
extern void zreconstruct_free(ZPageView *view);

#endif							/* ZHEAP_MVCC_RECONSTRUCT_H */
