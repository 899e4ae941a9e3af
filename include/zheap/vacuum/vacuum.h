/*
 * vacuum.h
 *		VACUUM of a table.
 */
#ifndef ZHEAP_VACUUM_H
#define ZHEAP_VACUUM_H

#include "commands/vacuum.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat_vacuum.h"

/*
 * VACUUM the table: remove dead rows and the index entries that name them, roll back rows of
 * aborted transactions, mark pages all-visible, update the free space map, and return an empty
 * tail to the operating system.  The caller holds ShareUpdateExclusiveLock on the table and no
 * buffer lock; truncation takes AccessExclusiveLock, conditionally, and releases it.  ERROR
 * (object_not_in_prerequisite_state) if the library is not preloaded, (data_corrupted) for a
 * damaged page; errors of reading pages and indexes; a cancel.
 */
extern void zvacuum_relation(Relation rel, ZCompatVacuumParams *params,
							 BufferAccessStrategy strategy);

#endif							/* ZHEAP_VACUUM_H */
