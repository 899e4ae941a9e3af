/*
 * mvcc_reconstruct.h
 *		Private to mvcc: rows of a private copy that have been reconstructed as versions
 *		whose maker the page's slots do not tell.
 */
#ifndef ZHEAP_MVCC_RECONSTRUCT_H
#define ZHEAP_MVCC_RECONSTRUCT_H

#include "zheap/mvcc/mvcc.h"

/* Let the version name the row's modifier; false: the row's header does. */
extern bool zreconstruct_name(const ZPageView *view, ZRowVersion *version);

extern void zreconstruct_free(ZPageView *view);

#endif							/* ZHEAP_MVCC_RECONSTRUCT_H */
