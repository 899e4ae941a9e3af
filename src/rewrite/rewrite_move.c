/*
 * rewrite_move.c
 *		Rows that updates have moved, in a table that is rewritten.
 *
 * A reader with an old snapshot that reaches a moved row (it is deleted here) follows it to its
 * new place, so the undo record must name where that row is in the new file.  Such rows are
 * written last, each after the row that it leads to.  The rows that they may lead to are
 * remembered: every row inserted by a transaction that some snapshot may not see.  If these are
 * many, as after a load beside an old snapshot, the old table is read once more to find out
 * which of them moved rows do lead to.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "zheap/mvcc/state.h"

#include "rewrite_private.h"

/*
 * Number of rows that are remembered before the table is read to find out which of them have to
 * be.
 */
#define MAX_REMEMBERED	10000

typedef enum MoveState
{
	MOVE_WRITTEN,
	MOVE_PENDING,
	MOVE_BUSY					/* being followed */
} MoveState;

typedef struct Move
{
	ItemPointerData from;		/* key: place in the old table */
	uint8		state;			/* MoveState */
	ItemPointerData to;			/* WRITTEN: place in the new table; otherwise the place in the
								 * old table of the row it was moved to */
	FullTransactionId fxid;		/* WRITTEN: the inserter; otherwise the transaction of the move */
} Move;

bool
copy_is_moved(const ZRowVersion *version)
{
	return (version->hdr.flags & ZROW_DELETED) != 0 && (version->hdr.flags & ZROW_MOVED) != 0;
}

static Move *
move_enter(ZCopy *copy, const ItemPointerData *from, MoveState state)
{
	Move	   *move;

	if (copy->moves == NULL)
	{
		HASHCTL		ctl = {0};

		ctl.keysize = sizeof(ItemPointerData);
		ctl.entrysize = sizeof(Move);
		ctl.hcxt = copy->view.context;
		copy->moves = hash_create("zheap moved rows", 256, &ctl,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	move = hash_search(copy->moves, from, HASH_ENTER, NULL);
	move->state = state;
	return move;
}

/* ---- rows that moved rows lead to ---- */

static void
find_targets_of_page(ZCopy *copy, ZPageView *view)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= max; offnum++)
	{
		ZRowVersion	version;
		ZUndoRecord rec;
		ZOwner		at;

		if (!zpage_is_row(view->page, offnum))
			continue;
		zmvcc_current(view, offnum, &version);
		if (copy_is_moved(&version) && zmvcc_skip_aborted(view, &version) &&
			copy_is_moved(&version) && zmvcc_record(view, &version, &rec, &at) &&
			rec.has_new_tid)
			(void) hash_search(copy->targets, &rec.new_tid, HASH_ENTER, NULL);
	}
}

/* Read the old table to find the rows that moved rows lead to. */
static void
find_targets(ZCopy *copy)
{
	HASHCTL		ctl = {.keysize = sizeof(ItemPointerData),.entrysize = sizeof(ItemPointerData)};
	ZCopyAhead	ahead;
	ReadStream *stream = copy_stream_begin(copy, &ahead);
	ZPageView	view;
	Buffer		buffer;

	ctl.hcxt = copy->view.context;
	copy->targets = hash_create("where moved rows of a zheap table lead to", 256, &ctl,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	zview_open(&view, copy->from);
	while ((buffer = read_stream_next_buffer(stream, NULL)) != InvalidBuffer)
	{
		bool		has_rows = zview_read_pinned(&view, buffer);

		ReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
		if (has_rows)
			find_targets_of_page(copy, &view);
	}
	read_stream_end(stream);
	zview_close(&view);
}

static bool
is_target(const ZCopy *copy, const ItemPointerData *tid)
{
	return copy->targets == NULL || hash_search(copy->targets, tid, HASH_FIND, NULL) != NULL;
}

static void
forget_others(ZCopy *copy)
{
	HASH_SEQ_STATUS seq;
	Move	   *move;

	hash_seq_init(&seq, copy->moves);
	while ((move = hash_seq_search(&seq)) != NULL)
	{
		if (move->state == MOVE_WRITTEN && !is_target(copy, &move->from))
			(void) hash_search(copy->moves, &move->from, HASH_REMOVE, NULL);
	}
}

void
copy_move_remember(ZCopy *copy, const ItemPointerData *from, const ItemPointerData *to,
				   FullTransactionId inserter)
{
	Move	   *move;

	Assert(FullTransactionIdIsValid(inserter));
	if (copy->targets == NULL && copy->moves != NULL &&
		hash_get_num_entries(copy->moves) >= MAX_REMEMBERED)
	{
		find_targets(copy);
		forget_others(copy);
	}
	if (!is_target(copy, from))
		return;
	move = move_enter(copy, from, MOVE_WRITTEN);
	move->to = *to;
	move->fxid = inserter;
}

/*
 * The row's record gives the transaction of the move, and the place in the old table that it
 * leads to.
 */
void
copy_move_later(ZCopy *copy, const ZRowVersion *version, const ItemPointerData *tid)
{
	Move	   *move = move_enter(copy, tid, MOVE_PENDING);
	ZUndoRecord rec;
	ZOwner		at;

	Assert(copy_is_moved(version));
	ItemPointerSetInvalid(&move->to);
	move->fxid = InvalidFullTransactionId;
	if (zmvcc_record(&copy->view, version, &rec, &at))
	{
		move->fxid = at.fxid;
		if (rec.has_new_tid)
			move->to = rec.new_tid;
	}

	if (copy->npending == copy->pending_alloc)
	{
		copy->pending_alloc = Max(64, copy->pending_alloc * 2);
		copy->pending = copy->pending == NULL ?
			MemoryContextAlloc(copy->view.context, copy->pending_alloc * sizeof(ItemPointerData)) :
			repalloc_huge(copy->pending, copy->pending_alloc * sizeof(ItemPointerData));
	}
	copy->pending[copy->npending++] = *tid;
}

static Move *
move_find(ZCopy *copy, const ItemPointerData *tid)
{
	return ItemPointerIsValid(tid) ? hash_search(copy->moves, tid, HASH_FIND, NULL) : NULL;
}

/*
 * Write a moved row; the rows that it leads to are written.  If the next one is gone, its
 * deletion was visible to all, and this row is written as deleted.
 */
static void
move_write(ZCopy *copy, Move *move)
{
	Move	   *next = move_find(copy, &move->to);
	ItemPointerData tid;

	Assert(move->state == MOVE_BUSY);
	if (next != NULL && (next->state != MOVE_WRITTEN ||
						 !FullTransactionIdEquals(next->fxid, move->fxid)))
		next = NULL;
	(void) copy_view(copy, ItemPointerGetBlockNumber(&move->from));
	move->fxid = copy_row_history(copy, ItemPointerGetOffsetNumber(&move->from),
								  next ? &next->to : NULL, &tid);
	move->to = tid;
	move->state = MOVE_WRITTEN;
}

/* Write the rows that a pending one leads to, and then the row itself. */
static void
move_follow(ZCopy *copy, Move *move)
{
	List	   *way = NIL;

	while (move != NULL && move->state == MOVE_PENDING)
	{
		move->state = MOVE_BUSY;
		way = lappend(way, move);
		move = move_find(copy, &move->to);
	}
	for (int i = list_length(way) - 1; i >= 0; i--)
	{
		CHECK_FOR_INTERRUPTS();
		move_write(copy, list_nth(way, i));
	}
	Assert(move == NULL || move->state != MOVE_PENDING);
	list_free(way);
}

void
copy_moves_finish(ZCopy *copy)
{
	for (int64 i = 0; i < copy->npending; i++)
	{
		MemoryContext outer = MemoryContextSwitchTo(copy->context);

		move_follow(copy, move_find(copy, &copy->pending[i]));
		MemoryContextSwitchTo(outer);
		MemoryContextReset(copy->context);
	}
}
