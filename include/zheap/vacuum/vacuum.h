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
 * Take dead rows and the index entries that name them away, roll back rows of
 * aborted transactions, tell the free space map, give an empty tail back to the
 * operating system.  The caller holds ShareUpdateExclusiveLock.
 */
extern void zvacuum_relation(Relation rel, ZCompatVacuumParams *params,
							 BufferAccessStrategy strategy);

#endif							/* ZHEAP_VACUUM_H */
