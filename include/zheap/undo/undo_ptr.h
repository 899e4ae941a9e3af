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

#endif							/* ZHEAP_UNDO_PTR_H */
