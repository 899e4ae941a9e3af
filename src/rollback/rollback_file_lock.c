/*
 * rollback_file_lock.c
 *		The lock between sweeps, which roll back pages, and backends that take the file away.
 *
 * A sweep must not block other sessions: LOCK TABLE ... NOWAIT succeeds beside it, as it does
 * beside heap's rollback, which leaves no work for later.  So it keeps no lock on the table.
 * The only harm would be a file that is dropped or truncated, or its pages copied elsewhere,
 * while the sweep changes a page.  Backends that do so hold AccessExclusiveLock on the table,
 * and wait here until sweeps have left the file.
 *
 * A sweep takes the lock on the file while it has AccessShareLock on the table, for a moment
 * and only if it gets both without waiting.  So after the wait no sweep comes back before the
 * lock on the table is released; and then the catalog shows that the file does not belong to
 * the table any more.
 *
 * VACUUM, which truncates a table only if nothing conflicts with that, keeps sweeps out before
 * it requests AccessExclusiveLock: so no session waits for a sweep's page because of that lock.
 *
 * The lock is identified by the file's number, as a rewrite gives the old file to another
 * relation, to be dropped with it.  Files with the same number in two tablespaces share it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"

#include "rollback_private.h"

/* Set the lock tag of the file.  The server locks no relation by a tag of this type. */
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

	/* A sweep leaves after its current page: this is a wait as for a pin, not for a table. */
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
