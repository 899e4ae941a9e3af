/*
 * undo_marks.c
 *		How many extents had been opened at which xid.
 *
 * Extents are counted as they are opened, and for some of them a mark notes the next xid at
 * that moment, and the time.  So views can compute what a holder keeps, and for how long, without
 * a look at the extents, which may be very many.
 *
 * LOCKING: the database's lock, exclusively.
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/timestamp.h"

#include "store_private.h"
#include "undo_state.h"

static void
add_mark(ZUndoDb *db, FullTransactionId next)
{
	ZUndoMark  *mark = &db->marks[db->nmarks++];

	mark->at = GetCurrentTimestamp();
	mark->opened = db->opened;
	mark->next = next;
}

/* Extents from before are not counted. */
void
zundo_marks_begin(ZUndoDb *db)
{
	db->opened = 0;
	db->nmarks = 0;
	db->mark_interval = 1;
	add_mark(db, ReadNextFullTransactionId());
}

/* Keep only the last of the marks up to the horizon: no holder is older than that. */
static void
forget_marks(ZUndoDb *db)
{
	uint64		horizon = pg_atomic_read_u64(&db->horizon);
	int			first = 0;

	while (first + 1 < db->nmarks &&
		   U64FromFullTransactionId(db->marks[first + 1].next) <= horizon)
		first++;
	db->nmarks -= first;
	memmove(db->marks, db->marks + first, db->nmarks * sizeof(ZUndoMark));
	if (db->nmarks < ZUNDO_MARKS / 4 && db->mark_interval > 1)
		db->mark_interval /= 2;
}

/* Remove every second mark, but not the first. */
static void
thin_marks(ZUndoDb *db)
{
	for (int i = 2; i < db->nmarks; i += 2)
		db->marks[i / 2] = db->marks[i];
	db->nmarks = (db->nmarks + 1) / 2;
	db->mark_interval *= 2;
}

void
zundo_count_opened(ZUndoDb *db, FullTransactionId next)
{
	Assert(LWLockHeldByMeInMode(zundo_db_lock(db), LW_EXCLUSIVE));
	db->opened++;
	forget_marks(db);
	if (db->opened - db->marks[db->nmarks - 1].opened < db->mark_interval)
		return;
	if (db->nmarks == ZUNDO_MARKS)
		thin_marks(db);
	add_mark(db, next);
}
