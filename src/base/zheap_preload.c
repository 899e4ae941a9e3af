/*
 * zheap_preload.c
 *		Check that the library was loaded early enough to register its resource manager.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "zheap/base/base.h"

static bool preloaded = false;

void
zheap_mark_preloaded(void)
{
	preloaded = true;
}

bool
zheap_is_preloaded(void)
{
	return preloaded;
}

void
zheap_require_preload(void)
{
	if (likely(preloaded))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("zheap must be loaded by \"shared_preload_libraries\""),
			 errdetail("Without that its write-ahead log could not be replayed after a crash."),
			 IsBinaryUpgrade ?
			 errhint("Add \"zheap\" to \"shared_preload_libraries\" of the old and the new cluster before the upgrade.") :
			 errhint("Add \"zheap\" to \"shared_preload_libraries\" and restart the server.")));
}
