/*
 * rollback_file_lock.c
 *		A lock between those who roll back pages in passing and those who take the file away.
 *
 * A sweep must be in nobody's way: LOCK TABLE ... NOWAIT succeeds beside it, as it does
 * beside heap's rollback, which leaves nothing to do.  So it does not keep a lock on
 * the table.  What would do harm is only that the file is dropped or truncated,
 * or its pages copied elsewhere, while it changes a page.  All who do that hold
 * AccessExclusiveLock on the table, and wait here until sweeps have left the file.
 *
 * A sweep takes the lock on the file while it has one on the table (AccessShareLock), for a
 * moment and only if it gets that at once.  So after the wait none comes back before the lock
 * on the table is released; and then the catalog tells it that the file is not the
 * table's any more.
 *
 * VACUUM, which truncates a table only if nobody is in the way, keeps sweeps out before it asks
 * for AccessExclusiveLock: so nobody waits for a sweep's page because of that lock.
 *
 * The lock goes by the file's number, as a rewrite gives the old file to another
 * relation, to be dropped with it.  Files of one number in two tablespaces share it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"

#include "rollback_private.h"

/* The server locks no relation by this type of tag. */
static void
set_tag(LOCKTAG *tag, RelFileLocator locator)
{
	Assert(OidIsValid(locator.relNumber));
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, RelationRelationId, locator.relNumber, 0);
}

bool
zrollback_file_acquire(RelFileLocator locator)
{
	LOCKTAG		tag;

	set_tag(&tag, locator);
	return LockAcquire(&tag, RowExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

void
zrollback_file_release(RelFileLocator locator)
{
	LOCKTAG		tag;

	set_tag(&tag, locator);
	Assert(LockHeldByMe(&tag, RowExclusiveLock, false));
	(void) LockRelease(&tag, RowExclusiveLock, false);
}

#ifdef USE_ASSERT_CHECKING
bool
zrollback_file_is_held(Relation rel)
{
	LOCKTAG		tag;

	if (RelationUsesLocalBuffers(rel) || CheckRelationLockedByMe(rel, AccessShareLock, true))
		return true;
	set_tag(&tag, rel->rd_locator);
	return LockHeldByMe(&tag, RowExclusiveLock, false);
}
#endif

bool
zrollback_file_is_wanted(RelFileLocator locator)
{
	LOCKTAG		tag;

	set_tag(&tag, locator);
	return LockHasWaiters(&tag, RowExclusiveLock, false);
}

void
zrollback_file_keep_out(RelFileLocator locator)
{
	int			timeout = LockTimeout;
	LOCKTAG		tag;

	set_tag(&tag, locator);
	Assert(!zheap_holds_buffer_lock()); /* L1 */

	/* A sweep leaves after the page that it is at: like a wait for a pin, not for a table. */
	LockTimeout = 0;
	PG_TRY();
	{
		(void) LockAcquire(&tag, ExclusiveLock, false, false);
	}
	PG_FINALLY();
	{
		LockTimeout = timeout;
	}
	PG_END_TRY();
}

void
zrollback_file_let_in(RelFileLocator locator)
{
	LOCKTAG		tag;

	set_tag(&tag, locator);
	(void) LockRelease(&tag, ExclusiveLock, false);
}

void
zrollback_file_wait(RelFileLocator locator)
{
	zrollback_file_keep_out(locator);
	zrollback_file_let_in(locator);
}
