/*
 * version_id.h
 *		What made a version of a row, and the version's identity.
 */
#ifndef ZHEAP_VERSION_ID_H
#define ZHEAP_VERSION_ID_H

#include "access/transam.h"

#include "zheap/page/page_format.h"

typedef enum ZModifierKind
{
	ZMODIFIER_ALL_VISIBLE,		/* whichever it was: all see the version */
	ZMODIFIER_EXACT,			/* place.fxid made the version */
	ZMODIFIER_UPPER_BOUND		/* place.fxid did, or an owner of the slot before it */
} ZModifierKind;

/*
 * The transaction that made a version (M1).  The record of the making is at place.undo
 * or further down the chain.
 */
typedef struct ZModifier
{
	ZModifierKind kind;
	ZOwner		place;
} ZModifier;

static inline void
zmodifier_set_all_visible(ZModifier *modifier)
{
	modifier->kind = ZMODIFIER_ALL_VISIBLE;
	modifier->place.fxid = InvalidFullTransactionId;
	modifier->place.undo = ZUNDO_INVALID;
}

/* The transaction itself; invalid: visible to all.  Not of an upper bound. */
static inline FullTransactionId
zmodifier_fxid(const ZModifier *modifier)
{
	Assert(modifier->kind != ZMODIFIER_UPPER_BOUND);	/* M1 */
	return modifier->place.fxid;
}

/*
 * It, or an owner of its slot that came later and, if it has committed, did so after
 * it; invalid: visible to all.
 */
static inline FullTransactionId
zmodifier_bound(const ZModifier *modifier)
{
	return modifier->place.fxid;
}

static inline bool
zmodifier_is_all_visible(const ZModifier *modifier)
{
	return modifier->kind == ZMODIFIER_ALL_VISIBLE;
}

static inline bool
zmodifier_is_exact(const ZModifier *modifier)
{
	return modifier->kind == ZMODIFIER_EXACT;
}

/*
 * What the system columns of a version say, but for xmin as users see it
 * (tuple_slot.c).
 */
typedef struct ZVersionId
{
	ZModifier	modifier;		/* see zmvcc_resolve_id */
	CommandId	cmin;			/* valid only for versions of our own transaction;
								 * InvalidCommandId: see zmvcc_resolve_id */
	TransactionId xmax;			/* the one that superseded, deleted or locked it, or 0 */
	CommandId	cmax;
	bool		written;		/* just now, and whoever has the values need not have its bytes */
	bool		for_core;		/* the server itself asks whether we made it */
} ZVersionId;

/*
 * Make sure that the modifier is no upper bound, and its command known.  "offnum" is the
 * row's.  May read undo; the undo log must be open (zundo_open).
 */
extern void zmvcc_resolve_id(ZVersionId *id, OffsetNumber offnum);

#endif							/* ZHEAP_VERSION_ID_H */
