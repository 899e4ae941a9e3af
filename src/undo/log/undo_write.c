/*
 * undo_write.c
 *		Append to the backend's own log.
 *
 * Only the backend knows where the next record goes (MyUndo), so appending costs one content
 * lock of a page that no other backend writes, and that stays pinned in a transaction that
 * writes much, or is expected to (undo_tail.c).
 *
 * LOCKING: the tail page is locked exclusively from zundo_reserve() to zundo_release().
 * Callers may hold table pages (L1).
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/*
 * An extent is left when its last page has less room than this, if that can be done before
 * table pages are locked.  Only a record that is longer, or a second one of the same operation,
 * has to open an extent in zundo_reserve().  A toasted row is hardly ever longer than a quarter
 * of a page, nor is its record.
 */
#define SWITCH_ROOM		(BLCKSZ / 4 + 128)

/* How old the horizon may get: in microseconds; in transactions of a backend. */
#define ADVANCE_INTERVAL	20000
#define ADVANCE_COUNT		256

/* ---- preparing ---- */

static inline bool
needs_extent(void)
{
	return !BlockNumberIsValid(MyUndo.block) ||
		(zundo_last_of_extent(MyUndo.block) &&
		 MyUndo.offset > ZUNDO_PAGE_END - SWITCH_ROOM);
}

/* Move the horizon if it is old.  One backend at a time does it for all. */
static void
advance_if_old(void)
{
	static uint32 count = 0;
	pg_atomic_uint64 *last_advance = &MyUndo.db->last_advance;
	TimestampTz now = GetCurrentStatementStartTimestamp();
	uint64		last = pg_atomic_read_u64(last_advance);

	if (now - (TimestampTz) last < ADVANCE_INTERVAL && ++count < ADVANCE_COUNT)
		return;
	count = 0;
	if (pg_atomic_compare_exchange_u64(last_advance, &last, (uint64) now))
	{
		zundo_horizon_advance();
		zundo_hold_warn();
	}
}

/*
 * Go on in another log.  What the transaction has written so far becomes pending, like that of
 * a prepared one; it goes on as if it began in the other log.
 */
static void
change_log(void)
{
	zundo_xact_mark_pending();
	zundo_log_seal();
	zundo_log_attach();
}

/* Do what zundo_prepare() promises, when there is something to do. */
static void
prepare(void)
{
	zundo_open();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write undo during recovery")));
	if (!MyUndo.ready)
	{
		zundo_refuse_moved();
		zundo_refuse_given_up();
		(void) zundo_open_loaded();
		if (MyUndo.log != NULL && !MyUndo.entered && MyUndo.log->sealed)
			zundo_log_leave();
		if (MyUndo.log == NULL)
			zundo_log_attach();
		else if (!MyUndo.entered)
			zundo_log_enter();
		advance_if_old();
	}
	while (needs_extent())
	{
		zundo_throttle();
		if (zundo_extent_can_be_left(zundo_owner_newest_extent(MyUndo.log)))
			zundo_extent_open();
		else
			change_log();
	}
	MyUndo.ready = true;
	zundo_owner_check();
}

void
zundo_prepare(void)
{
	if (likely(MyUndo.ready) && likely(!needs_extent()) && likely(MyUndo.rel != NULL))
		return;
	prepare();
}

/* ---- reserving ---- */

/* Go on to the next page, of a new extent if necessary. */
static void
next_page(void)
{
	if (zundo_last_of_extent(MyUndo.block))
	{
		zundo_extent_open();
		return;
	}
	zundo_tail_unpin();
	MyUndo.block++;
	MyUndo.offset = ZUNDO_PAGE_START;
	MyUndo.init = true;
	MyUndo.recent = InvalidBuffer;
}

static bool
is_as_checked(Page page)
{
	return zundo_page_is_sound(page, MyUndo.block, ZUNDO_PAGE_MAGIC) &&
		(PageGetLSN(page) == MyUndo.lsn || zundo_page_lsn_is_sound(page));
}

/*
 * ERROR (data_corrupted) if the page is not as we left it; then the log is sealed.  The check of
 * a page that has stayed pinned is not verified again.
 */
static void
check_written_page(Relation rel, Page page, bool just_pinned)
{
	if (likely(zundo_page_end(page) == MyUndo.offset &&
			   zundo_special(page)->generation == MyUndo.generation &&
			   (!just_pinned || is_as_checked(page))))
		return;
	/* the next transaction takes another log */
	MyUndo.log->sealed = true;
	zheap_corrupt(rel, MyUndo.block, InvalidOffsetNumber,
				  "undo page of generation %u ends at %u, LSN %X/%X, not generation %u at %u",
				  zundo_special(page)->generation, zundo_page_end(page),
				  LSN_FORMAT_ARGS(PageGetLSN(page)), MyUndo.generation, MyUndo.offset);
}

/*
 * Pin the tail page, lock it exclusively and return it.  What a page that is to be initialised
 * holds from an earlier generation does not matter.
 */
static Buffer
lock_tail(Relation rel)
{
	bool		pinned = BufferIsValid(MyUndo.tail);
	Buffer		buffer;

	if (!pinned && MyUndo.init)
		return zundo_tail_pin(rel, RBM_ZERO_AND_LOCK);
	buffer = pinned ? MyUndo.tail : zundo_tail_pin(rel, RBM_ZERO_ON_ERROR);
	Assert(BufferGetBlockNumber(buffer) == MyUndo.block);	/* U8 */
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!MyUndo.init)
		check_written_page(rel, BufferGetPage(buffer), !pinned);
	return buffer;
}

static void
reserve(Size size, ZUndoWrite *write)
{
	Relation	rel = zundo_relation();

	Assert(MyUndo.ready && CritSectionCount == 0);
	Assert(BlockNumberIsValid(MyUndo.block));
	if (MyUndo.offset + zundo_framed(size) > ZUNDO_PAGE_END)
		next_page();

	write->buffer = lock_tail(rel);
	MyUndo.records++;
	write->offset = MyUndo.offset;
	write->generation = MyUndo.generation;
	write->init = MyUndo.init;
	write->log = MyUndo.log->number;
	write->ptr = zundo_ptr_make(MyUndo.block, write->generation, write->offset);
}

void
zundo_reserve(Relation rel, Size size, ZUndoWrite *write)
{
	if (size > ZUNDO_MAX_RECORD)
		elog(ERROR, "undo record of %zu bytes does not fit a page", size);
	if (RelationUsesLocalBuffers(rel))
		zundo_local_reserve(rel, size, write);
	else
		reserve(size, write);
}

Size
zundo_size_of_two(Size first, Size second)
{
	return zundo_framed(first) + second;
}

void
zundo_place_second(const ZUndoWrite *first, Size len, ZUndoWrite *second)
{
	*second = *first;
	second->offset += zundo_framed(len);
	second->ptr = zundo_ptr_make(zundo_ptr_block(first->ptr), first->generation, second->offset);
	second->init = false;
}

void
zundo_release(ZUndoWrite *write)
{
	if (BufferIsValid(write->buffer))
		zundo_tail_unlock(write->buffer);
	write->buffer = InvalidBuffer;
}

/* ---- writing ---- */

void
zundo_write(ZUndoWrite *write, const char *bytes, Size len)
{
	Page		page;

	Assert(CritSectionCount > 0);
	if (!BufferIsValid(write->buffer))
	{
		zundo_local_write(write, bytes, len);
		return;
	}
	page = BufferGetPage(write->buffer);
	Assert(write->offset == MyUndo.offset && write->init == MyUndo.init);		/* U1 */

	if (unlikely(MyUndo.first == ZUNDO_INVALID))
		zundo_owner_begin(write->ptr);
	MyUndo.last_sub = GetCurrentSubTransactionId();

	if (write->init)
		zundo_page_init_apply(page, MyUndo.block, write->generation);
	zundo_page_append_apply(page, MyUndo.block, bytes, len);
	MarkBufferDirty(write->buffer);

	MyUndo.offset = zundo_page_end(page);
	MyUndo.init = false;
}
