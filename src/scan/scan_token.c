/*
 * scan_token.c
 *		The number of a version that was just written.
 *
 * The slot that a row was written from has its values, but not always its bytes: those that the
 * toaster left are on the page, with the turn of an update in place.
 *
 * LOCKING: one page, share lock.
 */
#include "postgres.h"

#include "access/table.h"
#include "storage/bufmgr.h"

#include "zheap/page/page.h"
#include "zheap/page/row.h"
#include "zheap/scan/token.h"

static bool
token_of_row(Page page, OffsetNumber offnum, uint32 *token)
{
	ZRowHeader	hdr;
	const char *row;
	uint32		len;

	if (!zpage_is_table(page) || zpage_check_header(page) != NULL ||
		offnum == InvalidOffsetNumber || offnum > PageGetMaxOffsetNumber(page) ||
		!ItemIdIsNormal(PageGetItemId(page, offnum)) || zpage_check_row(page, offnum) != NULL)
		return false;
	row = zpage_row(page, offnum, &len, NULL);
	zrow_header_get(row, &hdr);
	if (zrow_is_tombstone(&hdr))
		return false;
	*token = zrow_token(row, len);
	return true;
}

bool
zscan_token_on_page(Oid table, const ItemPointerData *tid, uint32 *token)
{
	Relation	rel = table_open(table, NoLock);
	Buffer		buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	bool		found;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = token_of_row(BufferGetPage(buffer), ItemPointerGetOffsetNumberNoCheck(tid), token);
	UnlockReleaseBuffer(buffer);
	table_close(rel, NoLock);
	return found;
}
