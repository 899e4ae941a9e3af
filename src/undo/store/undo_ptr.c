/*
 * undo_ptr.c
 *		Compression of pointers in records.
 *
 * A pointer is a varint (blocks before that of base << 13 | offset).  A varint of 0, which is
 * no offset, is followed by the 8 bytes of the pointer.
 */
#include "postgres.h"

#include "zheap/base/base.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"

StaticAssertDecl(ZUNDO_PAGE_END <= 1 << ZUNDO_PTR_OFFSET_BITS, "offsets on an undo page fit");

char *
zundo_ptr_put(char *out, ZUndoPtr ptr, ZUndoPtr base)
{
	BlockNumber block = zundo_ptr_block(ptr);
	BlockNumber from = zundo_ptr_block(base);

	/* all pages of an extent have the same generation */
	if (zundo_ptr_generation(ptr) == zundo_ptr_generation(base) &&
		block <= from && from - block < ZUNDO_EXTENT_BLOCKS &&
		zundo_ptr_offset(ptr) > 0 && zundo_ptr_offset(ptr) < ZUNDO_PAGE_END)
		return zvarint_put(out, (uint64) (from - block) << ZUNDO_PTR_OFFSET_BITS |
						   zundo_ptr_offset(ptr));
	*out++ = 0;
	memcpy(out, &ptr, sizeof(ptr));
	return out + sizeof(ptr);
}

const char *
zundo_ptr_get(const char *in, const char *end, ZUndoPtr base, ZUndoPtr *ptr)
{
	uint64		value;

	in = zvarint_get(in, end, &value);
	if (in == NULL || value >> ZUNDO_PTR_OFFSET_BITS >= ZUNDO_EXTENT_BLOCKS)
		return NULL;
	if (value != 0)
	{
		*ptr = zundo_ptr_before(base, (uint32) value);
		return in;
	}
	if (end - in < (ptrdiff_t) sizeof(*ptr))
		return NULL;
	memcpy(ptr, in, sizeof(*ptr));
	return in + sizeof(*ptr);
}
