/*
 * row_origin.c
 *		The TID that a row had before an update moved it.
 *
 * Written only if other transactions held KEY SHARE locks there, which the update
 * does not disturb: who wants to delete the row, or change its key, looks for them
 * at both places.  See lock.h.
 */
#include "postgres.h"

#include "zheap/page/row.h"

bool
zrow_origin_get(const char *row, uint32 len, ItemPointer origin)
{
	if (!(zrow_flags(row) & ZROW_ORIGIN) ||
		len < ZROW_HDR_SIZE + sizeof(ItemPointerData))
		return false;
	memcpy(origin, row + len - sizeof(ItemPointerData), sizeof(ItemPointerData));
	return true;
}

char *
zrow_origin_set(char *row, uint32 *len, const ItemPointerData *origin)
{
	if (zrow_flags(row) & ZROW_ORIGIN)
	{
		row[0] &= ~ZROW_ORIGIN;
		*len -= sizeof(ItemPointerData);
	}
	if (origin != NULL)
	{
		row = repalloc(row, *len + sizeof(ItemPointerData));
		row[0] |= (char) ZROW_ORIGIN;
		memcpy(row + *len, origin, sizeof(ItemPointerData));
		*len += sizeof(ItemPointerData);
	}
	return row;
}
