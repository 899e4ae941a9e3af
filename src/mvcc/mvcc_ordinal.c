/*
 * mvcc_ordinal.c
 *		The versions of a row within our own transaction, by number.
 *
 * 1 is the version that the transaction found, or inserted; each update and the
 * delete adds one.  What is rolled back does not count.
 *
 * What an AFTER ROW event costs does not depend on how often its row was changed.
 * There are ZTID_MAX_ORDINAL numbers, then the update moves the row; so counting ends
 * soon, and no way back from the newest version is longer than that.  Most are shorter:
 *
 * A version keeps its number: what made the versions before it can only be rolled
 * back together with it.  So numbers found lately are remembered, by the place of the
 * version's record, and a row's versions need not be counted for each update again.
 * The same holds for the versions themselves.  Deferred events fire when the row is
 * changed no more, the one of the oldest version first: that one's way is remembered,
 * and the events after it go no way at all.  What is remembered is right for as long as
 * the row's newest record is the same, as a record never changes, and our transaction
 * never has two at one place of the undo log (U1, U4).
 *
 * The row as inserted has no number, and there may be any number of versions since.  It
 * is reached by far links (mvcc_walk.c).
 *
 * LOCKING: none of its own; undo pages come after table pages (L1).
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "zheap/mvcc/mvcc.h"
#include "zheap/tid/tid.h"

#define KNOWN_SIZE	8192		/* a power of two */

/* a way back of so many steps is worth to be remembered */
#define LONG_WAY	4

/* of all ways together */
#define MAX_MEMORY	((Size) 8 * 1024 * 1024)

/* The versions before one, the newest first. */
typedef struct Way
{
	int			steps;
	ZRowVersion versions[ZTID_MAX_ORDINAL + 1];
} Way;

typedef struct Known
{
	ZOwner		made;			/* the transaction, and the record */
	int			ordinal;		/* 0: empty */
	uint64		epoch;			/* of another one: no way is remembered */
	Way		   *way;
} Known;

static Known known[KNOWN_SIZE];

/* Ways are good for one transaction, and given up all at once. */
static struct
{
	MemoryContext context;		/* NULL: none so far */
	MemoryContextCallback callback;
	uint64		epoch;
}			ways = {.epoch = 1};

/*
 * Made by our transaction, or a part of it that goes on?  The version has been
 * through zmvcc_skip_aborted: with upper_bound its modifier has committed.
 */
static bool
made_by_us(ZPageView *view, const ZRowVersion *version)
{
	Assert(version->modifier.kind != ZMODIFIER_UPPER_BOUND ||
		   zmvcc_version_status(view, version) == ZXACT_COMMITTED ||
		   zmvcc_version_status(view, version) == ZXACT_ALL_VISIBLE);
	return zmodifier_is_exact(&version->modifier) &&
		zmvcc_version_status(view, version) == ZXACT_OWN;
}

/* The row's newest version that is not rolled back. */
static bool
newest_version(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	zmvcc_current(view, offnum, version);
	return zmvcc_skip_aborted(view, version);
}

/* One version back within our transaction; false: the version is number 1. */
static bool
step_back(ZPageView *view, ZRowVersion *version)
{
	if (!made_by_us(view, version) || (version->hdr.flags & ZROW_INSERTED))
		return false;
	return zmvcc_previous(view, version) && zmvcc_skip_aborted(view, version);
}

/* ---- numbers ---- */

/* Where the number of this version, which we made, is remembered; NULL: nowhere. */
static Known *
known_of(ZPageView *view, const ZRowVersion *version, ZOwner *made)
{
	ZUndoRecord rec;

	if (!zmvcc_record(view, version, &rec, made))
		return NULL;
	return &known[murmurhash32((uint32) made->undo ^ (uint32) (made->undo >> 32)) % KNOWN_SIZE];
}

static bool
is_known(const Known *entry, const ZOwner *made)
{
	return entry->ordinal > 0 && entry->made.undo == made->undo &&
		FullTransactionIdEquals(entry->made.fxid, made->fxid);
}

/*
 * The number of the version, which has been through zmvcc_skip_aborted, or if that has
 * no number any more, some other one beyond ZTID_MAX_ORDINAL + 1.  *entry gets where it is
 * remembered, or NULL.
 */
static int
count_back(ZPageView *view, ZRowVersion *version, Known **entry)
{
	ZOwner		newest = {InvalidFullTransactionId, ZUNDO_INVALID};
	int			ordinal = 1;

	*entry = NULL;
	if (made_by_us(view, version))
		*entry = known_of(view, version, &newest);
	if (*entry && is_known(*entry, &newest))
		return (*entry)->ordinal;
	while (ordinal <= ZTID_MAX_ORDINAL + 1 && step_back(view, version))
	{
		Known	   *older;
		ZOwner		made;

		if (made_by_us(view, version) &&
			(older = known_of(view, version, &made)) != NULL && is_known(older, &made))
		{
			ordinal += older->ordinal;
			break;
		}
		ordinal++;
	}
	Assert(ordinal >= 1);		/* T4 */
	if (*entry && !view->unfinished)
	{
		(*entry)->made = newest;
		(*entry)->ordinal = ordinal;
		(*entry)->way = NULL;
	}
	return ordinal;
}

int
zmvcc_ordinal(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion version;
	Known	   *entry;

	if (!newest_version(view, offnum, &version))
		return 0;
	return count_back(view, &version, &entry);
}

/* ---- ways ---- */

/* The transaction is over, or memory is to be freed. */
static void
ways_reset(void *arg)
{
	ways.context = NULL;
	ways.epoch++;
}

static void
ways_open(void)
{
	if (ways.context && MemoryContextMemAllocated(ways.context, false) > MAX_MEMORY)
		MemoryContextDelete(ways.context);
	if (ways.context)
		return;
	ways.context = AllocSetContextCreate(TopTransactionContext, "zheap versions",
										 ALLOCSET_DEFAULT_SIZES);
	ways.callback.func = ways_reset;
	MemoryContextRegisterResetCallback(ways.context, &ways.callback);
}

/* The version so many steps before the one that the entry is about; NULL: go there. */
static const ZRowVersion *
known_version(const Known *entry, int steps)
{
	if (entry == NULL || entry->way == NULL || entry->epoch != ways.epoch ||
		steps < 1 || steps > entry->way->steps)
		return NULL;
	return &entry->way->versions[steps - 1];
}

static void
way_add(Way *way, const ZRowVersion *version)
{
	ZRowVersion *kept = &way->versions[way->steps++];
	char	   *row = MemoryContextAlloc(ways.context, version->len);

	Assert(way->steps <= (int) lengthof(way->versions));
	memcpy(row, version->row, version->len);
	*kept = *version;
	kept->row = row;
}

/* Go from the newest version so many steps back; false: there are not so many. */
static bool
go_back(ZPageView *view, ZRowVersion *version, int steps, Known *entry)
{
	Way		   *way = NULL;

	Assert(steps >= 0);
	if (entry && steps >= LONG_WAY && steps <= (int) lengthof(way->versions))
	{
		ways_open();
		way = MemoryContextAlloc(ways.context, offsetof(Way, versions) +
								 steps * sizeof(ZRowVersion));
		way->steps = 0;
	}
	for (; steps > 0; steps--)
	{
		if (!step_back(view, version))
			return false;
		if (way)
			way_add(way, version);
	}
	if (way && !view->unfinished)
	{
		entry->epoch = ways.epoch;
		entry->way = way;
	}
	return true;
}

bool
zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal, ZRowVersion *version)
{
	const ZRowVersion *found;
	Known	   *entry;
	int			steps;

	Assert(ordinal >= 1 && ordinal <= ZTID_MAX_ORDINAL + 1);	/* T4 */
	if (!newest_version(view, offnum, version))
		return false;
	steps = count_back(view, version, &entry) - ordinal;
	if (steps < 0)
		return false;
	if ((found = known_version(entry, steps)) != NULL)
	{
		*version = *found;
		return true;
	}
	/* counting may have gone back */
	return newest_version(view, offnum, version) && go_back(view, version, steps, entry);
}

/* ---- others ---- */

bool
zmvcc_fetch_replaced(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	return newest_version(view, offnum, version) && step_back(view, version);
}

static bool
own_owner(const ZUnseen *unseen, FullTransactionId fxid)
{
	return zmvcc_xact_status(fxid) == ZXACT_OWN;
}

bool
zmvcc_fetch_inserted(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	static const ZUnseen own = {.owner = own_owner, .curcid = InvalidCommandId};

	if (!newest_version(view, offnum, version))
		return false;
	while (made_by_us(view, version))
	{
		if (version->hdr.flags & ZROW_INSERTED)
			return true;
		if (!zmvcc_previous_unseen(view, version, &own) ||
			!zmvcc_skip_aborted(view, version))
			return false;
	}
	return false;
}
