/*
 * mvcc_version_id.c
 *		A version's identity: its system columns, looked up when they are read.
 *
 * LOCKING: none of its own.
 */
#include "postgres.h"

#include "access/xact.h"

#include "zheap/mvcc/chain.h"
#include "zheap/mvcc/visibility.h"

void
zmvcc_version_id(const ZRowVersion *version, ZPageView *view, ZVersionId *id)
{
	memset(id, 0, sizeof(*id));
	id->modifier = version->modifier;
	if (version->cid != InvalidCommandId)
		id->cmin = version->cid;
	else if (zmodifier_is_exact(&version->modifier) &&
			 TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier))))
		(void) zmvcc_command(view, version, &id->cmin);
	if (FullTransactionIdIsValid(version->next_fxid))
	{
		id->xmax = zfxid_xid(version->next_fxid);
		id->cmax = version->next_cid;
	}
}

void
zmvcc_resolve_id(ZVersionId *id, OffsetNumber offnum)
{
	/* no snapshot sees a deletion, so the version is none */
	ZSought		sought = {offnum, false};
	ZPageView	view;
	ZOwner		at;

	if (id->modifier.kind != ZMODIFIER_UPPER_BOUND && id->cmin != InvalidCommandId)
		return;
	zview_open(&view, NULL);
	view.local = view.reader.local = zundo_ptr_is_local(id->modifier.place.undo);
	view.horizon = zview_horizon(&view);
	if (id->modifier.kind == ZMODIFIER_EXACT)
	{
		if (!zchain_command(&view, 0, &id->modifier.place, sought, &id->cmin))
			id->cmin = FirstCommandId;
	}
	else if (zchain_find(&view, 0, &id->modifier.place, sought, NULL, &at, NULL) == ZCHAIN_FOUND)
	{
		id->modifier.kind = ZMODIFIER_EXACT;
		id->modifier.place = at;
	}
	else
		zmodifier_set_all_visible(&id->modifier);
	zview_close(&view);
}
