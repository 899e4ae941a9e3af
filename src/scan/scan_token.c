/*
 * scan_token.c
 *		The number of a version that was just written.
 *
 * The slot from which a row was written has its values, but not always its bytes: the toaster's
 * pointers and the turn of an update in place are only on the page.
 *
 * LOCKING: no buffer is locked at entry, as it may be this page, nor at exit; one page, share
 * lock.  The table's AccessShareLock is kept to the end of the transaction, as the lock of the
 * writer may be released.
 */
#include "postgres.h"

#include "access/table.h"
#include "storage/bufmgr.h"

#include "zheap/base/base.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"
#include "zheap/scan/token.h"

/*
 * Get the number of the row at offnum.  Return false if there is none, it is damaged, or it is a
 * tombstone.  The page is locked.
 */
static bool
token_of_row(Page page, OffsetNumber offnum, uint32 *token)
{
	ZRowHeader	hdr;
	const char *row;
	uint32		len;

	if (!zpage_is_table(page) || zpage_check_header(page) != NULL ||
		!zpage_is_row(page, offnum) || zpage_check_row(page, offnum) != NULL)
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
	Relation	rel;
	Buffer		buffer;
	bool		found;

	Assert(!zheap_holds_buffer_lock()); /* L1 */
	rel = table_open(table, AccessShareLock);
	buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = token_of_row(BufferGetPage(buffer), ItemPointerGetOffsetNumberNoCheck(tid), token);
	UnlockReleaseBuffer(buffer);
	table_close(rel, NoLock);
	return found;
}
