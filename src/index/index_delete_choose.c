/*
 * index_delete_choose.c
 *		Which table pages a bottom-up deletion of index entries visits, and in which order.
 *
 * LOCKING: none is taken; the caller has locked the index page.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "port/pg_bitutils.h"

#include "index_delete_choose.h"

/* Smaller numbers of promising entries count as this one. */
#define MIN_PROMISING	4

/* The entries of one table page within deltids. */
typedef struct BlockGroup
{
	int			first;
	int			n;
	int			promising;		/* number of promising entries, rounded up to a power of two */
	uint64		rank;			/* order among groups that promise the same, highest first */
} BlockGroup;

static inline uint64
deltid_place(const TM_IndexDelete *deltid)
{
	return (uint64) ItemPointerGetBlockNumber(&deltid->tid) << 16 |
		ItemPointerGetOffsetNumber(&deltid->tid);
}

/* static void deltids_sort(TM_IndexDelete *deltids, size_t n), by TID */
#define ST_SORT deltids_sort
#define ST_ELEMENT_TYPE TM_IndexDelete
#define ST_COMPARE(a, b) \
	(deltid_place(a) < deltid_place(b) ? -1 : deltid_place(a) > deltid_place(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Order the most promising first. */
static int
group_compare(const void *a, const void *b)
{
	const BlockGroup *ga = (const BlockGroup *) a;
	const BlockGroup *gb = (const BlockGroup *) b;

	if (ga->promising != gb->promising)
		return ga->promising > gb->promising ? -1 : 1;
	return ga->rank > gb->rank ? -1 : ga->rank < gb->rank;
}

/* Replace most of the groups to be visited, all but the first ones, by random ones. */
static void
pick_any(BlockGroup *groups, int ngroups)
{
	for (int i = ZDELETE_BLOCKS / 2; i < Min(ngroups, ZDELETE_STALE_BLOCKS); i++)
	{
		int			pick = (int) pg_prng_uint64_range(&pg_global_prng_state, i, ngroups - 1);
		BlockGroup	group = groups[i];

		groups[i] = groups[pick];
		groups[pick] = group;
	}
}

/*
 * Bottom-up: keep only the entries of a few pages, the most promising page first; among equals the
 * one with most entries, then in the order of the pages.  deltids are sorted by TID on entry.
 *
 * Promising are entries with equal keys, which moved rows have.  Where updates in place have left
 * rows with several keys, any entry may be unneeded.  There equals come in random order, as a
 * fixed order might visit the same needed entries each time, and all pages but the first three are
 * picked at random.
 */
static void
keep_promising(TM_IndexDeleteOp *op, bool several_keys)
{
	BlockGroup *groups = palloc(sizeof(BlockGroup) * op->ndeltids);
	TM_IndexDelete *kept = palloc(sizeof(TM_IndexDelete) * op->ndeltids);
	BlockNumber block = InvalidBlockNumber;
	int			ngroups = 0;
	int			nkept = 0;
	int			i;

	for (i = 0; i < op->ndeltids; i++)
	{
		TM_IndexDelete *deltid = &op->deltids[i];

		if (ngroups == 0 || ItemPointerGetBlockNumber(&deltid->tid) != block)
		{
			block = ItemPointerGetBlockNumber(&deltid->tid);
			groups[ngroups].first = i;
			groups[ngroups].n = 0;
			groups[ngroups++].promising = 0;
		}
		groups[ngroups - 1].n++;
		if (op->status[deltid->id].promising)
			groups[ngroups - 1].promising++;
	}

	/* small differences in what the index considers promising mean nothing */
	for (i = 0; i < ngroups; i++)
	{
		groups[i].promising = (int)
			pg_nextpower2_32((uint32) Max(groups[i].promising, MIN_PROMISING));
		groups[i].rank = several_keys ? pg_prng_uint64(&pg_global_prng_state) :
			(uint64) groups[i].n << 32 | (uint32) (op->ndeltids - groups[i].first);
	}
	qsort(groups, ngroups, sizeof(BlockGroup), group_compare);
	if (several_keys)
		pick_any(groups, ngroups);

	for (i = 0; i < Min(ngroups, several_keys ? ZDELETE_STALE_BLOCKS : ZDELETE_BLOCKS); i++)
	{
		memcpy(kept + nkept, op->deltids + groups[i].first,
			   sizeof(TM_IndexDelete) * groups[i].n);
		nkept += groups[i].n;
	}
	memcpy(op->deltids, kept, sizeof(TM_IndexDelete) * nkept);
	op->ndeltids = nkept;

	pfree(kept);
	pfree(groups);
}

void
zdelete_choose_entries(TM_IndexDeleteOp *op, bool several_keys, bool all)
{
	deltids_sort(op->deltids, op->ndeltids);
	if (op->bottomup && !all)
		keep_promising(op, several_keys);
}
