/*
 * zheap_inval.c
 *		Relation cache callbacks that miss no invalidation message.
 *
 * The server processes an invalidation message in two steps: it rebuilds the relation cache's
 * entries that are in use, and then calls the callbacks.  The first step reads catalogs and may
 * raise an error; the message counts as processed all the same, and the callbacks are not called.
 * The relation cache itself recovers, because the entries are marked as invalid.  So after each
 * error the callbacks registered here are called for all relations, if the backend has received a
 * message since the last such call.
 *
 * Messages of the transaction's own commands do not count: the changes that a missed one is about
 * are rolled back with the command.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "storage/sinval.h"
#include "utils/inval.h"

#include "zheap/base/base.h"

static ZRelationWatcher watchers[2];
static int	nwatchers = 0;

/* SharedInvalidMessageCounter at the last call of all callbacks for all relations. */
static uint64 messages = 0;

static void
call_all(Datum arg, Oid relid)
{
	for (int i = 0; i < nwatchers; i++)
		watchers[i] (relid);
}

void
zheap_watch_relations(ZRelationWatcher watcher)
{
	Assert(nwatchers < (int) lengthof(watchers));
	if (nwatchers == 0)
		CacheRegisterRelcacheCallback(call_all, (Datum) 0);
	watchers[nwatchers++] = watcher;
}

void
zheap_watch_at_abort(void)
{
	if (likely(messages == SharedInvalidMessageCounter))
		return;
	messages = SharedInvalidMessageCounter;
	call_all((Datum) 0, InvalidOid);
}
