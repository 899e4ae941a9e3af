/*
 * rollback_worker.c
 *		Callbacks of the worker that rolls back.
 *
 * The layer of workers is higher: it calls zrollback_sweep().  So a worker registers its
 * callbacks; in other processes a sweep is never told to leave, and counts nothing.
 */
#include "postgres.h"

#include "rollback_private.h"

static const ZRollbackWorker *my_worker;

void
zrollback_worker_register(const ZRollbackWorker *worker)
{
	my_worker = worker;
}

bool
zrollback_worker_is_to_leave(void)
{
	return my_worker != NULL && my_worker->is_to_leave();
}

void
zrollback_worker_progress(Size undo, uint32 pages)
{
	if (my_worker != NULL)
		my_worker->progress(undo, pages);
}

void
zrollback_worker_error(void)
{
	if (my_worker != NULL)
		my_worker->error();
}
