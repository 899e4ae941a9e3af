/*
 * undo_ptr.h
 *		Pointers to undo records.
 */
#ifndef ZHEAP_UNDO_PTR_H
#define ZHEAP_UNDO_PTR_H

#include "zheap/undo/undo_format.h"

/* The pointer alone, without touching the page. */
extern ZUndoPtr zundo_ptr_make(BlockNumber block, uint16 generation, uint16 offset);

static inline BlockNumber
zundo_ptr_block(ZUndoPtr ptr)
{
	return (BlockNumber) (ptr >> 32);
}

static inline uint16
zundo_ptr_generation(ZUndoPtr ptr)
{
	return (uint16) (ptr >> 16);
}

static inline uint16
zundo_ptr_offset(ZUndoPtr ptr)
{
	return (uint16) ptr;
}

/*
 * A pointer in a record, in few bytes if it leads to the same extent as "base", a
 * pointer that whoever reads it knows, and not behind it: two on the same page, three
 * elsewhere.  ZUNDO_PTR_MAX bytes at most.  Reading returns NULL if the bytes run past
 * "end" or are no pointer.
 */
#define ZUNDO_PTR_MAX	9
extern char *zundo_ptr_put(char *out, ZUndoPtr ptr, ZUndoPtr base);
extern const char *zundo_ptr_get(const char *in, const char *end, ZUndoPtr base, ZUndoPtr *ptr);

#endif							/* ZHEAP_UNDO_PTR_H */
