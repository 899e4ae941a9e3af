/*
 * mvcc_ordinal.c
 *		The versions of a row within our own transaction, by number.
 *
 * Version 1 is the one that the transaction found, or inserted; each update and the delete adds
 * one.  Versions that are rolled back do not count.
 *
 * The cost of an AFTER ROW event does not depend on how often its row was changed.  There are
 * ZTID_MAX_ORDINAL numbers, then the update moves the row; so counting ends soon, and no way
 * back from the newest version is longer than that.  Most are shorter:
 *
 * A version keeps its number: the changes that made the versions before it can only be rolled
 * back together with it.  So recent numbers are remembered, by the place of the version's
 * record, and a row's versions need not be counted for each update again.  The same holds for
 * the versions themselves.  Deferred events fire when the row is changed no more, the one of
 * the oldest version first: its way back is remembered, and the events after it need none.  The
 * remembered versions are right for as long as the row's newest record is the same, as a record
 * never changes, and our transaction never has two at one place of the undo log (U1, U4).
 *
 * The row as inserted has no number, and there may be any number of versions since.  It is
 * reached by far links (mvcc_walk.c).
 *
 * LOCKING: none of its own; undo pages come after table pages (L1).
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "zheap/mvcc/ordinal.h"
#include "zheap/mvcc/state.h"
#include "zheap/record/record.h"
#include "zheap/tid/tid.h"

#define KNOWN_SIZE	8192		/* a power of two */

/* number of steps from which on a way back is remembered */
#define LONG_WAY	4

/* upper limit for all ways together */
#define MAX_MEMORY	((Size) 8 * 1024 * 1024)

/* The versions before a version, newest first. */
typedef struct Way
{
	int			steps;
	ZRowVersion versions[ZTID_MAX_ORDINAL + 1];
} Way;

typedef struct Known
{
	ZOwner		made;			/* transaction and record that made the version */
	int			ordinal;		/* 0: empty */
	uint64		epoch;			/* no way is remembered unless this is ways.epoch */
	Way		   *way;
} Known;

static Known known[KNOWN_SIZE];

/* Ways are valid for one transaction, and freed together. */
static struct
{
	MemoryContext context;		/* NULL: none so far */
	MemoryContextCallback callback;
	uint64		epoch;
}			ways = {.epoch = 1};

/*
 * Return whether our transaction made the version, or a subtransaction of it that was not
 * rolled back.  The version has been through zmvcc_skip_aborted, so an upper bound means that
 * its modifier has committed.
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

/* Get the row's newest version that is not rolled back.  Return false if there is none. */
static bool
newest_version(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	zmvcc_current(view, offnum, version);
	return zmvcc_skip_aborted(view, version);
}

/*
 * Go one version back within our transaction.  Return false if the version is number 1, or none
 * is left.
 */
static bool
step_back(ZPageView *view, ZRowVersion *version)
{
	if (!made_by_us(view, version) || (version->hdr.flags & ZROW_INSERTED))
		return false;
	return zmvcc_previous(view, version) && zmvcc_skip_aborted(view, version);
}

/* ---- numbers ---- */

/*
 * Return the entry in which the number of this version, which we made, is remembered, and its
 * maker in *made.  NULL if the version has no record any more.
 */
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
 * Return the number of the version, which has been through zmvcc_skip_aborted; if it has none
 * any more, some number above ZTID_MAX_ORDINAL + 1.  *entry is where the number is remembered,
 * or NULL.
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

/* Forget all ways: the transaction ends, or memory is to be freed. */
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

/*
 * Return the version "steps" steps before the one that the entry is about, or NULL if it is not
 * remembered.
 */
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

/*
 * Go "steps" versions back from the newest one.  Return false if there are fewer.  Remembers
 * the way in the entry if it is long.
 */
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
	/* counting may have stepped back */
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
