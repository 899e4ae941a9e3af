/*
 * dml_waypoint.c
 *		Waypoints among the versions of a row that is updated in place very often.
 *
 * Every ZROW_TURNS updates the undo record of a row is a waypoint: it has a far link to a
 * waypoint further down that holds the whole row before, an image.  Waypoints with an image are
 * so far apart that they cost about a byte per update.  Their links form a skew-binary list (E.
 * Myers, "An applicative random-access stack", 1983): from any of n waypoints each earlier one
 * is O(log n) links away.
 *
 * Nothing is done if the version before is visible to all, because no reader walks there.
 *
 * LOCKING: zwaypoint_describe works under the page's lock, so it reads no more records than B1
 * allows; if the last waypoint cannot be found within that, the list begins anew.
 */
#include "postgres.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/chain.h"
#include "zheap/undo/undo_format.h"

/* upper limit of "since"; larger values make no difference */
#define MAX_SINCE		(1 << 20)

/*
 * Average number of bytes of an image that each waypoint may cost; with its links about twice
 * that.
 */
#define BYTES_PER_WAYPOINT	32

/* A waypoint with an image, and properties of the versions from there on. */
typedef struct Far
{
	ZOwner		at;				/* invalid if there is none */
	bool		own;			/* as far_own and far_keys of a link */
	bool		keys;
} Far;

/*
 * Return the link of the waypoint at "from", or "from" itself if it is the first one.  *images
 * is set to the number of images in the list.
 */
static Far
next_far(ZPageView *view, OffsetNumber offnum, const Far *from, uint32 *images)
{
	ZUndoRecord rec;
	Far			far = *from;

	*images = 0;
	if (!zchain_read(view, offnum, &from->at, &rec))
		return far;
	*images = rec.images;
	if (FullTransactionIdIsValid(rec.far.fxid))
	{
		far.at = rec.far;
		far.own = from->own && rec.far_own;
		far.keys = from->keys || rec.far_keys;
	}
	return far;
}

/* Choose where the next waypoint with an image leads; the one before is "last". */
static Far
choose_far(ZPageView *view, OffsetNumber offnum, const Far *last)
{
	uint32		depth;
	uint32		next_depth;
	uint32		far_depth;
	Far			next = next_far(view, offnum, last, &depth);
	Far			far = next_far(view, offnum, &next, &next_depth);

	(void) next_far(view, offnum, &far, &far_depth);
	return depth - next_depth == next_depth - far_depth ? far : *last;
}

bool
zwaypoint_link(ZPageView *view, const ZWaypointBelow *below, uint32 len, ZUndoRecord *undo)
{
	Far			last = {{InvalidFullTransactionId, ZUNDO_INVALID}, below->own, below->keys};

	Assert(undo->type == ZOP_UPDATE && !undo->waypoint);
	undo->waypoint = true;
	undo->since = 0;
	undo->images = 0;
	if (below->found)
	{
		const ZUndoRecord *rec = &below->rec;

		undo->images = rec->images;
		undo->since = Min(rec->since + 1, MAX_SINCE);
		last.at = below->at;
		if (rec->since > 0)
		{
			last.at = rec->far;
			last.own = last.own && rec->far_own;
			last.keys = last.keys || rec->far_keys;
		}
	}
	undo->far = last.at;
	undo->far_own = last.own;
	undo->far_keys = last.keys;
	if (FullTransactionIdIsValid(last.at.fxid) &&
		undo->since * BYTES_PER_WAYPOINT < len)
		return false;
	if (zrec_undo_bound(undo) - undo->midlen + len > ZUNDO_MAX_RECORD)
	{
		undo->since = Max(undo->since, 1);
		return false;
	}
	if (FullTransactionIdIsValid(last.at.fxid))
	{
		last = choose_far(view, undo->offnum, &last);
		undo->far = last.at;
		undo->far_own = last.own;
		undo->far_keys = last.keys;
	}
	undo->images++;
	undo->since = 0;
	Assert(zrec_undo_bound(undo) - undo->midlen + len <= ZUNDO_MAX_RECORD);
	return true;
}

/* Let the record hold the whole row before, instead of the difference. */
static void
hold_image(const ZRowVersion *version, const char *row, uint32 len, ZChange *change)
{
	change->row.prefix = change->undo.prefix = 0;
	change->row.suffix = change->undo.suffix = 0;
	change->row.mid = row + ZROW_HDR_SIZE;
	change->row.midlen = len - ZROW_HDR_SIZE;
	change->undo.mid = version->row + ZROW_HDR_SIZE;
	change->undo.midlen = version->len - ZROW_HDR_SIZE;
	change->undo.old_hdr.natts = version->hdr.natts;
}

void
zwaypoint_describe(ZTarget *target, const ZRowVersion *version, const char *row, uint32 len,
				   ZChange *change)
{
	ZUndoRecord *undo = &change->undo;
	ZWaypointBelow below;

	if (zrow_turn(&version->hdr) != ZROW_TURNS - 1 ||
		(!undo->prev_own && !FullTransactionIdIsValid(undo->row_prev.fxid)))
		return;
	Assert(target->locked && !zmodifier_is_all_visible(&version->modifier));
	below.own = undo->prev_own;
	below.keys = (undo->old_hdr.flags2 & ZROW2_KEYS_UPDATED) != 0;
	below.found = zmvcc_find_waypoint(&target->view, version, &below.rec, &below.at,
									  &below.own, &below.keys);
	if (zwaypoint_link(&target->view, &below, version->len, undo))
		hold_image(version, row, len, change);
}
