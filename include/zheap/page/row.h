/*
 * row.h
 *		Convert values to row bytes and back. Pure functions of a tuple descriptor.
 */
#ifndef ZHEAP_ROW_H
#define ZHEAP_ROW_H

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "access/tupmacs.h"
#include "storage/itemptr.h"

#include "zheap/page/row_format.h"

/*
 * Form a row from values, palloc'd in the current memory context; *len is its length in bytes.
 * Header flags other than HASNULL and HASEXTERNAL are zero, slotno is 0, natts is desc->natts.
 * The values must be detoasted as far as the caller wants them stored; expanded objects are
 * flattened, 4-byte varlena headers become short where attstorage allows.  A pointer to an
 * external value, in a toast table or in memory, makes the row HASEXTERNAL: the toaster must
 * handle it before the row is stored.  The row may have any length: the caller compares it with
 * the page's room.  ERROR (program_limit_exceeded) if it cannot be allocated at all.
 */
extern char *zrow_form(TupleDesc desc, const Datum *values, const bool *isnull,
					   uint32 *len);

/*
 * Return the length in bytes that zrow_form() would return, and in *flags HASNULL and HASEXTERNAL
 * as the row would have them, without forming it.  Same error.
 */
extern uint32 zrow_form_length(TupleDesc desc, const Datum *values, const bool *isnull,
							   uint8 *flags);

/*
 * The maximum length, in bytes, of a row whose heap tuple is no longer than TOAST_TUPLE_THRESHOLD,
 * the tuple's padding not counted.
 */
#define ZROW_TOAST_THRESHOLD \
	(TOAST_TUPLE_THRESHOLD - (MAXALIGN(SizeofHeapTupleHeader) - ZROW_HDR_SIZE))

/*
 * Return whether the toaster would shorten such a row, or move a value of it to the toast table.
 */
static inline bool
zrow_is_for_toaster(uint32 len, uint8 flags)
{
	return len > ZROW_TOAST_THRESHOLD || (flags & ZROW_HASEXTERNAL) != 0;
}

/* Return whether the address suits a type with this alignment. */
static inline bool
zrow_is_aligned(const char *address, char attalign)
{
	return (uintptr_t) address == att_align_nominal((uintptr_t) address, attalign);
}

/*
 * Form the row at "row", with the length and flags that zrow_form_length() has returned.  The
 * values do not point there.  Afterwards the by-reference values point into the row.  Returns
 * whether all of them are aligned; if not, the values are not usable, and the row must be
 * deformed.
 */
extern bool zrow_form_at(TupleDesc desc, Datum *values, const bool *isnull, char *row,
						 uint8 flags);

/*
 * The state of deforming a row, which may stop at any attribute and continue later.  Start with
 * zeroes.
 */
typedef struct ZRowDeform
{
	int			natts;			/* attributes done */
	uint32		off;			/* offset of the next value */
	char	   *scratch;		/* aligned copies of values that need alignment,
								 * see below */
	uint32		scratch_used;
	Size		scratch_size;	/* that the row may need */
	/* if set: called for the first value of a row that needs scratch space; returns that space */
	char	   *(*provide) (struct ZRowDeform *state, Size size);
} ZRowDeform;

/*
 * Bytes of scratch space that deforming a row of "len" bytes may need.  Values whose type demands
 * alignment (4-byte varlenas and fixed by-reference types with attalign other than 'c') and that
 * are misaligned are copied there.
 */
#define ZROW_SCRATCH_SIZE(natts, len)	((Size) (len) + (Size) (natts) * 8 + 8)

/*
 * Fill values/isnull of attributes [state->natts, upto).  Attributes that the row does not store
 * get their missing value (getmissingattr).  By-reference values point into the row or into
 * state->scratch, which the caller provides, at once or when it is needed, with ZROW_SCRATCH_SIZE
 * bytes, MAXALIGNed; both must outlive the values.  "row" may have any alignment; "len" excludes
 * padding.  Returns whether the bytes are a row; false if, say, a length runs past the end: the
 * caller reports that.
 */
extern bool zrow_deform(TupleDesc desc, const char *row, uint32 len, int upto,
						Datum *values, bool *isnull, ZRowDeform *state);

/* ---- row_to_tuple.c ---- */

/*
 * Make a heap tuple of the row, palloc'd in the current memory context: the one that
 * heap_form_tuple() would make of its values, except that it is not marked as a composite datum.
 * Returns NULL if the row is not of a common kind, or damaged: the caller deforms it.  Columns
 * that it does not store, values in a toast table and type cstring are not common.
 */
extern HeapTuple zrow_heap_tuple(TupleDesc desc, const char *row, uint32 len);

/* ---- row_diff.c ---- */

/* Return how many of the first "max" bytes are equal. */
extern uint32 zrow_same_bytes(const char *a, const char *b, uint32 max);

/*
 * Compute what the bodies (after the header) of two versions have in common: the number of equal
 * bytes at the beginning and at the end, which do not overlap.  Lengths are with header, without
 * padding.
 */
extern void zrow_diff(const char *now, uint32 nowlen, const char *was, uint32 waslen,
					  uint16 *prefix, uint16 *suffix);

/* Return whether two rows are equal after their headers. */
static inline bool
zrow_same_body(const char *a, uint32 alen, const char *b, uint32 blen)
{
	return alen == blen &&
		memcmp(a + ZROW_HDR_SIZE, b + ZROW_HDR_SIZE, alen - ZROW_HDR_SIZE) == 0;
}

/*
 * Return whether the first "natts" columns are the same bytes in two rows; false also if that
 * requires deforming them: nulls, columns that one of them does not store, long values.
 */
extern bool zrow_starts_alike(TupleDesc desc, const char *a, uint32 alen, const char *b,
							  uint32 blen, int natts);

/* ---- row_origin.c ---- */

/*
 * Return whether the former TIDs of a row with ZROW_ORIGIN can be read.  ("len" excludes padding
 * everywhere.)
 */
extern bool zrow_origins_valid(const char *row, uint32 len);

/*
 * Store the TIDs that the row had when it was moved beside KEY SHARE locks, up to
 * ZROW_MAX_ORIGINS; return their number.
 */
extern int	zrow_origins_get(const char *row, uint32 len, ItemPointerData *origins);

/* Return the bytes of these TIDs at the end of the row; 0 if it has none, or is damaged. */
extern uint32 zrow_origins_length(const char *row, uint32 len);

/*
 * Store these TIDs in a palloc'd row, in place of those that it has.  Returns the row, which may
 * have been reallocated; *len is updated.
 */
extern char *zrow_origins_set(char *row, uint32 *len, const ItemPointerData *origins, int count);

/* ---- row_token.c ---- */

#define ZROW_TOKEN_BITS		30

/*
 * Return a number of ZROW_TOKEN_BITS bits that does not change while the version does not,
 * wherever its bytes are read from, and that is different for the row's next version.
 */
extern uint32 zrow_token(const char *row, uint32 len);

#endif							/* ZHEAP_ROW_H */
