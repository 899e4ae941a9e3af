/*
 * verify_summary.c
 *		Bounds checks of summaries of BRIN's bloom and minmax-multi operator classes.
 *
 * The operator classes trust their summaries.  The formats are private to the server
 * (brin_bloom.c, brin_minmax_multi.c), and the same in all its versions that have them.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"

#include "verify_private.h"

typedef struct BloomSummary		/* tidy: the server's */
{
	int32		vl_len_;
	uint16		flags;
	uint8		nhashes;
	uint32		nbits;			/* size of data in bits */
	uint32		nbits_set;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} BloomSummary;

typedef struct RangesSummary	/* tidy: the server's */
{
	int32		vl_len_;
	Oid			typid;
	int			nranges;		/* of two values each */
	int			nvalues;
	int			maxvalues;
	char		data[FLEXIBLE_ARRAY_MEMBER];	/* values, not aligned */
} RangesSummary;

static bool
bloom_fits(const BloomSummary *summary, Size size)
{
	return size >= offsetof(BloomSummary, data) && summary->nbits > 0 &&
		summary->nbits % BITS_PER_BYTE == 0 &&
		summary->nbits / BITS_PER_BYTE <= size - offsetof(BloomSummary, data);
}

static bool
ranges_fit(const RangesSummary *summary, Size size, Oid type)
{
	const char *end = (const char *) summary + size;
	const char *at = summary->data;
	int16		len = get_typlen(type);

	if (size < offsetof(RangesSummary, data) || summary->typid != type ||
		summary->nranges < 0 || summary->nvalues < 0 ||
		summary->nranges > summary->maxvalues || summary->nvalues > summary->maxvalues ||
		2 * (int64) summary->nranges + summary->nvalues > summary->maxvalues)
		return false;
	for (int i = 0; i < 2 * summary->nranges + summary->nvalues && at != NULL; i++)
		at = verify_value_end(at, at, end, len, TYPALIGN_CHAR);
	return at != NULL;
}

bool
verify_summary_fits(Oid summary_type, Oid type, Datum value)
{
	struct varlena *summary;
	bool		fits;

	if (summary_type != PG_BRIN_BLOOM_SUMMARYOID &&
		summary_type != PG_BRIN_MINMAX_MULTI_SUMMARYOID)
		return true;
	summary = PG_DETOAST_DATUM(value);
	fits = summary_type == PG_BRIN_BLOOM_SUMMARYOID ?
		bloom_fits((BloomSummary *) summary, VARSIZE(summary)) :
		ranges_fit((RangesSummary *) summary, VARSIZE(summary), type);
	if ((Pointer) summary != DatumGetPointer(value))
		pfree(summary);
	return fits;
}
