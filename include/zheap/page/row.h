/*
 * row.h
 *		Values to row bytes and back.  Pure functions of a tuple descriptor.
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
 * Form a row from values.  Header flags other than HASNULL and HASEXTERNAL are
 * zero, slotno 0, natts = desc->natts.  The values must be detoasted as far as
 * the caller wants them stored; expanded objects are flattened, 4-byte varlena
 * headers become short where attstorage allows.  A pointer to a value elsewhere,
 * in a toast table or in memory, makes the row HASEXTERNAL: the toaster must see it
 * before it is stored.  Palloc'd in the current context.  May return a row of any length:
 * the caller checks against the page.
 */
extern char *zrow_form(TupleDesc desc, const Datum *values, const bool *isnull,
					   uint32 *len);

/*
 * Length that zrow_form would return, and of the flags HASNULL and HASEXTERNAL those that the
 * row would have, without forming.
 */
extern uint32 zrow_form_length(TupleDesc desc, const Datum *values, const bool *isnull,
							   uint8 *flags);

/*
 * From this length on a heap tuple of the same values is longer than TOAST_TUPLE_THRESHOLD, its
 * padding not counted.
 */
#define ZROW_TOAST_THRESHOLD \
	(TOAST_TUPLE_THRESHOLD - (MAXALIGN(SizeofHeapTupleHeader) - ZROW_HDR_SIZE))

/* Would the toaster shorten such a row, or take a value of it into the toast table? */
static inline bool
zrow_is_for_toaster(uint32 len, uint8 flags)
{
	return len > ZROW_TOAST_THRESHOLD || (flags & ZROW_HASEXTERNAL) != 0;
}

/* Does the address suit a type with this alignment? */
static inline bool
zrow_is_aligned(const char *address, char attalign)
{
	return (uintptr_t) address == att_align_nominal((uintptr_t) address, attalign);
}

/*
 * Form the row at "row", as long and with the flags that zrow_form_length has told.  The values do
 * not point there.  Those that are references refer to the row afterwards; false if one of
 * them lies misaligned there: then deforming the row tells the values, and they do not.
 */
extern bool zrow_form_at(TupleDesc desc, Datum *values, const bool *isnull, char *row,
						 uint8 flags);

/*
 * Deforming may stop at any attribute and go on later.  Start with zeroes.
 */
typedef struct ZRowDeform
{
	int			natts;			/* attributes done */
	uint32		off;			/* where the next value begins */
	char	   *scratch;		/* aligned copies of values that need alignment,
								 * see below */
	uint32		scratch_used;
	/* allocates the scratch, if that is NULL until a row needs it */
	char	   *(*provide) (struct ZRowDeform *state, Size size);
} ZRowDeform;

/*
 * Bytes of scratch that deforming a row of "len" bytes may need.  Values whose
 * type demands alignment (4-byte varlenas and fixed by-reference types with
 * attalign other than 'c') and that lie misaligned are copied there.
 */
#define ZROW_SCRATCH_SIZE(natts, len)	((Size) (len) + (Size) (natts) * 8 + 8)

/*
 * Fill values/isnull of attributes [state->natts, upto).  Attributes the row
 * does not store get their missing value (getmissingattr).  By-reference values
 * point into the row or into state->scratch, which the caller provides, at once or when
 * it is needed, with ZROW_SCRATCH_SIZE bytes, MAXALIGNed; both must outlive the values.
 * "row" may have any alignment; "len" excludes padding.  Returns false when the
 * bytes do not make a row (a length runs past the end): the caller reports it.
 */
extern bool zrow_deform(TupleDesc desc, const char *row, uint32 len, int upto,
						Datum *values, bool *isnull, ZRowDeform *state);

/* ---- row_diff.c ---- */

/*
 * What the bodies (after the header) of two versions have in common: bytes at the
 * begin and at the end that do not overlap.  Lengths are with header, without padding.
 */
extern void zrow_diff(const char *now, uint32 nowlen, const char *was, uint32 waslen,
					  uint16 *prefix, uint16 *suffix);

/* Are two rows the same behind their headers? */
static inline bool
zrow_same_body(const char *a, uint32 alen, const char *b, uint32 blen)
{
	return alen == blen &&
		memcmp(a + ZROW_HDR_SIZE, b + ZROW_HDR_SIZE, alen - ZROW_HDR_SIZE) == 0;
}

/*
 * Are the first "natts" columns the same bytes in two rows?  False also where that cannot be told
 * without deforming them: nulls, columns that one of them does not store, long values.
 */
extern bool zrow_starts_alike(TupleDesc desc, const char *a, uint32 alen, const char *b,
							  uint32 blen, int natts);

/* ---- row_origin.c ---- */

/* Of a row with ZROW_ORIGIN: can they be read?  ("len" excludes padding everywhere.) */
extern bool zrow_origins_valid(const char *row, uint32 len);

/*
 * Where the row was when it was moved beside KEY SHARE locks: up to
 * ZROW_MAX_ORIGINS TIDs; returns how many.
 */
extern int	zrow_origins_get(const char *row, uint32 len, ItemPointerData *origins);

/* Bytes of these TIDs at the end of the row; 0: it has none, or is damaged. */
extern uint32 zrow_origins_length(const char *row, uint32 len);

/*
 * Put these TIDs into a palloc'd row, in the place of those that it has.  Returns
 * the row, which may have been reallocated; *len changes with it.
 */
extern char *zrow_origins_set(char *row, uint32 *len, const ItemPointerData *origins, int count);

/* ---- row_token.c ---- */

#define ZROW_TOKEN_BITS		30

/*
 * A number of so many bits that stays the same while the version does, wherever its bytes are read
 * from, and is another one for the row's next version.
 */
extern uint32 zrow_token(const char *row, uint32 len);

#endif							/* ZHEAP_ROW_H */
