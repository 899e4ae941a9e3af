/*
 * row_origin.c
 *		The TIDs that a row had before updates moved it.
 *
 * They are stored only if other transactions held KEY SHARE locks there, which an update does not
 * disturb: a transaction that wants to delete the row, or change its key, searches for holders at
 * all these TIDs.  See lock.h.
 */
#include "postgres.h"

#include "zheap/page/row.h"

/* Return the bytes that they take at the end of the row; 0 if the row is damaged. */
static uint32
origins_size(const char *row, uint32 len)
{
	uint32		count;
	uint32		size;

	if (len <= ZROW_HDR_SIZE)
		return 0;
	count = (uint8) row[len - 1];
	size = count * sizeof(ItemPointerData) + 1;
	return count > 0 && count <= ZROW_MAX_ORIGINS && size <= len - ZROW_HDR_SIZE ? size : 0;
}

bool
zrow_origins_valid(const char *row, uint32 len)
{
	return origins_size(row, len) > 0;
}

uint32
zrow_origins_length(const char *row, uint32 len)
{
	return (zrow_flags(row) & ZROW_ORIGIN) ? origins_size(row, len) : 0;
}

int
zrow_origins_get(const char *row, uint32 len, ItemPointerData *origins)
{
	uint32		size = zrow_origins_length(row, len);

	if (size == 0)
		return 0;
	memcpy(origins, row + len - size, size - 1);
	return size / sizeof(ItemPointerData);
}

char *
zrow_origins_set(char *row, uint32 *len, const ItemPointerData *origins, int count)
{
	uint32		size = count * sizeof(ItemPointerData);

	if (zrow_flags(row) & ZROW_ORIGIN)
	{
		row[0] &= ~ZROW_ORIGIN;
		*len -= origins_size(row, *len);
	}
	if (count > 0)
	{
		row = repalloc(row, *len + size + 1);
		row[0] |= (char) ZROW_ORIGIN;
		memcpy(row + *len, origins, size);
		row[*len + size] = (char) count;
		*len += size + 1;
	}
	return row;
}
