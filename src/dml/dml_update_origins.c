/*
 * dml_update_origins.c
 *		The places where a row that moves may have left locks behind.
 *
 * KEY SHARE locks of other transactions do not conflict with an update that leaves the key
 * alone.  When the update moves the row they stay at the old place, and the new row names their
 * places (ZROW_ORIGIN), for transactions that want to delete it or to change its key.
 *
 * LOCKING: the row's page is locked exclusively; on exit as well, except after zorigins_name()'s
 * AGAIN (unlocked, because other pages were read, D2).
 */
#include "postgres.h"

#include "storage/itemptr.h"

#include "zheap/dml/update.h"

/* Undo records that the search for holders may read besides the check and the change (B1). */
#define HOLDER_READS	16

StaticAssertDecl(2 * HOLDER_READS <= ZTARGET_CHANGE_READS, "B1: MOVE looks for holders, then DELETE_OLD");

bool
zorigins_row_may_be_held(ZTarget *target)
{
	ZLockHolders holders;

	Assert(target->locked);
	zview_limit(&target->view, HOLDER_READS);
	zlock_holders(&target->view, NULL, target->offnum, LockTupleExclusive, &holders);
	return !zview_limit_end(&target->view) || TransactionIdIsValid(holders.conflicting);
}

/* Collect the version's former places where others may have locks; return their number. */
static int
places_left(const ZRowVersion *version, const ZOrigins *origins, ItemPointerData *places)
{
	int			count = zrow_origins_get(version->row, version->len, places);
	int			left = 0;

	for (int i = 0; i < count; i++)
	{
		bool		ended = false;

		for (int k = 0; k < origins->nended && !ended; k++)
			ended = ItemPointerEquals(&places[i],
									  unconstify(ItemPointerData *, &origins->ended[k]));
		if (!ended)
			places[left++] = places[i];
	}
	return left;
}

/*
 * Find former places where no lock is held any more.  A new lock there is also on this row.  The
 * page is locked on entry, and unlocked on exit.
 */
static void
find_ended(ZTarget *target, const ZRowVersion *version, ZOrigins *origins)
{
	ItemPointerData places[ZROW_MAX_ORIGINS];
	int			count = places_left(version, origins, places);

	Assert(!origins->known);	/* once per update, so that repeating ends */
	ztarget_unlock(target);
	for (int i = 0; i < count; i++)
	{
		if (!TransactionIdIsValid(zlock_origin_conflict(target->rel, &places[i])))
		{
			Assert(origins->nended < ZROW_MAX_ORIGINS);
			origins->ended[origins->nended++] = places[i];
		}
	}
	origins->known = true;
}

/* Let the row name these places, instead of those that it names. */
static void
set_origins(ZFormedRow *row, const ItemPointerData *places, int count)
{
	if (row->borrowed && count > 0)
	{
		char	   *own = palloc(row->len);

		memcpy(own, row->bytes, row->len);
		row->bytes = own;
		row->borrowed = false;
	}
	row->bytes = zrow_origins_set(row->bytes, &row->len, places, count);
}

ZStep
zorigins_name(ZTarget *target, const ZRowVersion *version, ZOrigins *origins,
			  LockTupleMode mode, ZFormedRow *row)
{
	ItemPointerData places[ZROW_MAX_ORIGINS + 1];
	int			count;

	Assert(target->checked);	/* D1 */
	if (mode == LockTupleExclusive)
	{
		/*
		 * no lock is held at any place: the check has made sure of that, under this hold of the
		 * page
		 */
		origins->named = false;
		set_origins(row, NULL, 0);
		return ZSTEP_DONE;
	}
	origins->named = origins->must_name || zorigins_row_may_be_held(target);
	count = places_left(version, origins, places);
	if (origins->named)
	{
		ItemPointerSet(&places[count], target->view.block, target->offnum);
		count++;
	}
	if (count <= ZROW_MAX_ORIGINS)
	{
		set_origins(row, places, count);
		if (row->len <= ZPAGE_MAX_ROW)
			return ZSTEP_DONE;
	}
	if (origins->known)
		return ZSTEP_NO_ROOM;
	find_ended(target, version, origins);
	return ZSTEP_AGAIN;
}

void
zorigins_keep(const ZRowVersion *old, LockTupleMode mode, ZFormedRow *row)
{
	ItemPointerData places[ZROW_MAX_ORIGINS];
	int			count = 0;

	if (mode != LockTupleExclusive)
		count = zrow_origins_get(old->row, old->len, places);
	set_origins(row, places, count);
}
