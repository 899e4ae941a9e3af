/*
 * version_id.h
 *		The transaction that made a version of a row, and the version's identity.
 */
#ifndef ZHEAP_VERSION_ID_H
#define ZHEAP_VERSION_ID_H

#include "access/transam.h"

#include "zheap/page/page_format.h"

typedef enum ZModifierKind
{
	ZMODIFIER_ALL_VISIBLE,		/* not known which transaction, but every snapshot sees the
								 * version */
	ZMODIFIER_EXACT,			/* place.fxid made the version */
	ZMODIFIER_UPPER_BOUND		/* place.fxid made it, or an earlier owner of the slot */
} ZModifierKind;

/*
 * The transaction that made a version (M1).  The undo record that it wrote then is at
 * place.undo, or further down the chain from there.
 */
typedef struct ZModifier
{
	ZModifierKind kind;
	ZOwner		place;
} ZModifier;

/* Make the modifier one that is visible to all. */
static inline void
zmodifier_set_all_visible(ZModifier *modifier)
{
	modifier->kind = ZMODIFIER_ALL_VISIBLE;
	modifier->place.fxid = InvalidFullTransactionId;
	modifier->place.undo = ZUNDO_INVALID;
}

/*
 * Return the transaction that made the version, or the invalid id if the version is visible to
 * all.  The modifier must not be an upper bound.
 */
static inline FullTransactionId
zmodifier_fxid(const ZModifier *modifier)
{
	Assert(modifier->kind != ZMODIFIER_UPPER_BOUND);	/* M1 */
	return modifier->place.fxid;
}

/*
 * Return the transaction that made the version, or a later owner of its slot, which, if it has
 * committed, did so after it.  The invalid id if the version is visible to all.
 */
static inline FullTransactionId
zmodifier_bound(const ZModifier *modifier)
{
	return modifier->place.fxid;
}

/* Return whether all snapshots see what the modifier did. */
static inline bool
zmodifier_is_all_visible(const ZModifier *modifier)
{
	return modifier->kind == ZMODIFIER_ALL_VISIBLE;
}

/* Return whether the modifier is known, not only a transaction that it is not newer than. */
static inline bool
zmodifier_is_exact(const ZModifier *modifier)
{
	return modifier->kind == ZMODIFIER_EXACT;
}

/* The values of a version's system columns, except xmin as users see it (slot_version.c). */
typedef struct ZVersionId
{
	ZModifier	modifier;		/* may be an upper bound until zmvcc_resolve_id */
	CommandId	cmin;			/* only for versions of our own transaction; InvalidCommandId
								 * until zmvcc_resolve_id */
	TransactionId xmax;			/* the transaction that superseded, deleted or locked it, or 0 */
	CommandId	cmax;
	bool		written;		/* true if just written: the owner of the values need not have
								 * the row's bytes */
	bool		for_core;		/* true if the server itself asks whether we made it */
} ZVersionId;

/*
 * Replace an upper bound by the exact modifier, and look up cmin if it is not known.  "offnum"
 * is the row's.  Needs no page and no lock; zundo_open() must have been called, as undo may be
 * read.  ERROR (data_corrupted) if that cannot be read.
 */
extern void zmvcc_resolve_id(ZVersionId *id, OffsetNumber offnum);

#endif							/* ZHEAP_VERSION_ID_H */
