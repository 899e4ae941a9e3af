/*
 * xact_callbacks.c
 *		End of transaction.
 *
 * An abort takes constant time: nothing is undone here (no error may happen, no
 * catalog can be read); the log is marked, and readers, writers and the worker
 * see to the rest.
 */
#include "postgres.h"

#include "access/xact.h"

#include "zheap/undo/undo.h"
#include "zheap/xact/xact.h"

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			zundo_local_before_commit();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			zundo_at_commit();
			break;
		case XACT_EVENT_PREPARE:
			zundo_at_prepare();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			zundo_at_abort();
			zxact_worker_wake();
			break;
		default:
			break;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		zundo_at_subabort();
}

void
zxact_callbacks_register(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
}
