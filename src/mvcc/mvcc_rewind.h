/*
 * mvcc_rewind.h
 *		Private to mvcc: rows of a private copy that have been put back to versions
 *		whose maker the page's slots do not tell.
 */
#ifndef ZHEAP_MVCC_REWIND_H
#define ZHEAP_MVCC_REWIND_H

#include "zheap/mvcc/mvcc.h"

/* Let the image name the row's modifier; false: the row's header does. */
extern bool zrewind_name(const ZPageView *view, ZImage *image);

extern void zrewind_free(ZPageView *view);

#endif							/* ZHEAP_MVCC_REWIND_H */
