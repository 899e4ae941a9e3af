/*
 * redo.h
 *		The resource manager.
 */
#ifndef ZHEAP_REDO_H
#define ZHEAP_REDO_H

/* Only while shared_preload_libraries are processed. */
extern void zredo_register(void);

#endif							/* ZHEAP_REDO_H */
