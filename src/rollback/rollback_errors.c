/*
 * rollback_errors.c
 *		Errors met while rolling back: caught, reported, counted.
 *
 * One page that cannot be read must not keep other tables, other transactions or other
 * databases waiting, nor fill the server log, since it is tried again and again.  So each
 * attempt runs in a subtransaction, and the same error in the same table is logged once, then
 * less and less often.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "zheap/base/pg_compat_vacuum.h"

#include "rollback_private.h"

/*
 * Seconds after which the same error is reported again: at first, and at most.  Doubled each
 * time.
 */
#define FIRST_SILENCE	60
#define LAST_SILENCE	3600

/* An error that was reported in the server log. */
typedef struct ZErrorNote
{
	Oid			db;				/* invalid: unused */
	Oid			relid;			/* invalid: not about a table */
	int			sqlerrcode;
	int			silence;		/* seconds until it may be reported again */
	TimestampTz reported_at;
} ZErrorNote;

#define ZERROR_NOTES	64

/* Errors since the start of the server, in shared memory; all protected by the mutex. */
typedef struct ZErrorShared
{
	slock_t		mutex;
	ZErrorInfo	info;
	ZErrorNote	notes[ZERROR_NOTES];
} ZErrorShared;

static ZErrorShared *shared;

Size
zrollback_shmem_size(void)
{
	return sizeof(ZErrorShared);
}

void
zrollback_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("zheap errors", sizeof(ZErrorShared), &found);
	if (found)
		return;
	memset(shared, 0, sizeof(ZErrorShared));
	SpinLockInit(&shared->mutex);
}

/* ---- catching ---- */

/* Return whether the error must end everything: a cancellation, or a shutdown of the server. */
static bool
must_pass(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION;
}

ErrorData *
zrollback_try(void (*work) (void *), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext scratch = AllocSetContextCreate(context, "zheap try", ALLOCSET_SMALL_SIZES);
	ErrorData  *volatile error = NULL;

	/* R7: nothing that is released after an error may be needed later */
	Assert(IsTransactionState());
	Assert(InterruptHoldoffCount == 0 && CritSectionCount == 0);

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(scratch);
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	MemoryContextDelete(scratch);
	Assert(IsTransactionState());
	Assert(InterruptHoldoffCount == 0 && CritSectionCount == 0);
	if (error != NULL && must_pass(error))
		ReThrowError(error);
	return error;
}

/* ---- counting and telling ---- */

void
zrollback_error_count(const char *message)
{
	TimestampTz now = GetCurrentTimestamp();
	char		text[ZERROR_TEXT] = {0};

	strlcpy(text, message, sizeof(text));
	zrollback_worker_error();
	SpinLockAcquire(&shared->mutex);
	shared->info.errors++;
	shared->info.last_at = now;
	shared->info.last_db = MyDatabaseId;
	memcpy(shared->info.last, text, sizeof(text));
	SpinLockRelease(&shared->mutex);
}

void
zrollback_error_info(ZErrorInfo *info)
{
	SpinLockAcquire(&shared->mutex);
	*info = shared->info;
	SpinLockRelease(&shared->mutex);
}

static bool
is_same(const ZErrorNote *note, Oid relid, int sqlerrcode)
{
	return note->db == MyDatabaseId && note->relid == relid && note->sqlerrcode == sqlerrcode;
}

/*
 * Return whether the error is to be logged, as it was not for its time of silence; if so, note
 * that it is logged now.
 */
static bool
is_to_be_reported(Oid relid, int sqlerrcode)
{
	TimestampTz now = GetCurrentTimestamp();
	ZErrorNote *note = &shared->notes[0];
	bool		result;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < ZERROR_NOTES; i++)
	{
		ZErrorNote *other = &shared->notes[i];

		if (is_same(other, relid, sqlerrcode))
		{
			note = other;
			break;
		}
		if (other->reported_at < note->reported_at)
			note = other;
	}
	if (!is_same(note, relid, sqlerrcode))
	{
		note->db = MyDatabaseId;
		note->relid = relid;
		note->sqlerrcode = sqlerrcode;
		note->reported_at = 0;
		note->silence = FIRST_SILENCE / 2;
	}
	result = now - note->reported_at >= note->silence * USECS_PER_SEC;
	if (result)
	{
		note->reported_at = now;
		note->silence = Min(note->silence * 2, LAST_SILENCE);
	}
	Assert(is_same(note, relid, sqlerrcode));
	Assert(note->silence >= FIRST_SILENCE && note->silence <= LAST_SILENCE);
	SpinLockRelease(&shared->mutex);
	return result;
}

void
zrollback_error_report(const ErrorData *error, Oid relid, const char *message)
{
	bool		background = AmBackgroundWorkerProcess() || AmAutoVacuumWorkerProcess();

	zrollback_error_count(message);
	if (background && !is_to_be_reported(relid, error->sqlerrcode))
		return;
	ereport(background ? LOG : WARNING,
			(errcode(error->sqlerrcode),
			 errmsg_internal("%s", message),
			 OidIsValid(relid) ?
			 errdetail("Database \"%s\" keeps undo from then on until the rows are rolled back, which is retried, or the table is truncated or dropped.",
					   get_database_name(MyDatabaseId)) :
			 errdetail("Database \"%s\" keeps undo from then on until VACUUM of zheap.undo has found no table with rows to roll back.",
					   get_database_name(MyDatabaseId)),
			 OidIsValid(relid) ?
			 errhint("Remove the cause of the error, or truncate or drop the table.  "
					 "As a last resort, call zheap.zheap_undo_skip() to give up rolling back damaged pages.") :
			 errhint("Run VACUUM on zheap.undo to search all tables for rows to roll back.  "
					 "If the undo relation itself is too damaged, call zheap.zheap_undo_skip(true) to rebuild it.")));
}
