/*
 * index_rebuilt.h
 *		Private to index: indexes that were rebuilt without the keys of older versions.
 */
#ifndef ZHEAP_INDEX_REBUILT_H
#define ZHEAP_INDEX_REBUILT_H

#include "utils/relcache.h"

/*
 * Note that the index lacks keys that snapshots may need, for which it is marked with indcheckxmin
 * before the statement or the transaction ends.  May be called in parallel mode, not by a worker.
 */
extern void index_rebuilt_note(Relation index);

#endif							/* ZHEAP_INDEX_REBUILT_H */
