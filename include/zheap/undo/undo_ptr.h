/*
 * undo_ptr.h
 *		Pointers to undo records.
 */
#ifndef ZHEAP_UNDO_PTR_H
#define ZHEAP_UNDO_PTR_H

#include "zheap/page/page_format.h"

/* Return the pointer to a position.  Only computes; raises no error. */
extern ZUndoPtr zundo_ptr_make(BlockNumber block, uint16 generation, uint16 offset);

/* The block of the undo relation that the pointer names. */
static inline BlockNumber
zundo_ptr_block(ZUndoPtr ptr)
{
	return (BlockNumber) (ptr >> 32);
}

/*
 * The generation of the page that the pointer was made for; another one means that the record is
 * gone.
 */
static inline uint16
zundo_ptr_generation(ZUndoPtr ptr)
{
	return (uint16) (ptr >> 16);
}

/* The position on the page, in bytes. */
static inline uint16
zundo_ptr_offset(ZUndoPtr ptr)
{
	return (uint16) ptr;
}

/* No pointer's page (zundo_ptr_page). */
#define ZUNDO_NO_PAGE	PG_UINT64_MAX

/* The page and its generation, in one number. */
static inline uint64
zundo_ptr_page(ZUndoPtr ptr)
{
	return ptr >> 16;
}

#define ZUNDO_PTR_OFFSET_BITS	13

/*
 * Return the pointer at a distance from "base": how many blocks before that of base, and the
 * offset in the lower ZUNDO_PTR_OFFSET_BITS bits.
 */
static inline ZUndoPtr
zundo_ptr_before(ZUndoPtr base, uint32 distance)
{
	uint64		blocks = distance >> ZUNDO_PTR_OFFSET_BITS;

	return ((base & ~(uint64) PG_UINT16_MAX) - (blocks << 32)) |
		(distance & ((1 << ZUNDO_PTR_OFFSET_BITS) - 1));
}

/*
 * Write and read a pointer that is part of a record.  It takes few bytes if it leads to the
 * extent of "base", a pointer that the reader knows, and not to a later page: two bytes to the
 * same page, three to another one; otherwise up to ZUNDO_PTR_MAX bytes.  zundo_ptr_put()
 * returns the end of what it has written.  zundo_ptr_get() returns the end of what it has read,
 * or NULL if the bytes are beyond "end" or are no pointer.
 */
#define ZUNDO_PTR_MAX	9
extern char *zundo_ptr_put(char *out, ZUndoPtr ptr, ZUndoPtr base);
extern const char *zundo_ptr_get(const char *in, const char *end, ZUndoPtr base, ZUndoPtr *ptr);

/*
 * Bytes that can be read from the begin of any record, however short it is: behind the last record
 * of a page there is the special area, and a copy of a record has room.
 */
#define ZUNDO_READABLE	17

#endif							/* ZHEAP_UNDO_PTR_H */
