/*
 * entry_key.h
 *		Keys of a row's versions in a B-tree, and of the entry that a scan is at.
 *
 * To form a key may run functions of types, and of the index's expressions and predicate, and
 * may read values from the toast table.  So the caller has locked no buffer (I3), and errors are
 * those of these functions; a version whose key was formed before, to be inserted, raises none.
 */
#ifndef ZHEAP_ENTRY_KEY_H
#define ZHEAP_ENTRY_KEY_H

#include "access/genam.h"
#include "access/itup.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/*
 * Fill values[] and isnull[] with the index's columns of the version in the slot.  Return false,
 * and fill nothing, if the version is not under the index's predicate.  The values are valid
 * until the slot changes, and until the next key of this index is formed.
 */
extern bool zkey_values(Relation index, TupleTableSlot *slot, Datum *values, bool *isnull);

/* Return the same as an index tuple in the current memory context, or NULL. */
extern IndexTuple zkey_form(Relation index, TupleTableSlot *slot);

/* Return whether the keys, without included columns, are equal by the index's operator classes. */
extern bool zkey_equal(Relation index, IndexTuple a, IndexTuple b);

/*
 * Return whether the tuples have the same values, byte by byte, included columns and all.  Long
 * values may be compressed in one and not in the other.  Calls no function of a type.
 */
extern bool zkey_same_bytes(Relation index, IndexTuple a, IndexTuple b);

/*
 * Return a hash of the key's bytes, included columns aside: keys with other hashes have other
 * bytes.  Calls no function of a type, so pages may be locked.
 */
extern uint64 zkey_hash(Relation index, IndexTuple key);

/* ---- the entry that a scan is at; the index is watched (zindex_is_watched) ---- */

/* Return whether the scan's current entry has the key of the version in the slot. */
extern bool zindex_entry_is_of(IndexScanDesc scan, TupleTableSlot *slot);

/*
 * The two steps of zindex_entry_is_of().
 *
 * zindex_key_of returns the key of the version in the slot, allocated in the current context, or
 * NULL if it has none or it is longer than "max" bytes.
 *
 * zindex_entry_has_key returns whether the scan's current entry has that key.
 */
extern IndexTuple zindex_key_of(Relation index, TupleTableSlot *slot, Size max);
extern bool zindex_entry_has_key(IndexScanDesc scan, IndexTuple key);

/* Forget all states of expressions, whose memory the transaction frees.  No locks, no errors. */
extern void zkey_at_end_of_transaction(void);

#endif							/* ZHEAP_ENTRY_KEY_H */
