/*
 * vacuum.h
 *		VACUUM of a table.
 */
#ifndef ZHEAP_VACUUM_H
#define ZHEAP_VACUUM_H

#include "postgres.h"

#include "commands/vacuum.h"
#include "storage/buf.h"
#include "utils/rel.h"

/*
 * Take dead rows and the index entries that name them away, put rows of aborted
 * transactions back, tell the free space map, give an empty tail back to the
 * operating system.  The caller holds ShareUpdateExclusiveLock.
 */
extern void zvacuum_relation(Relation rel, struct VacuumParams *params,
							 BufferAccessStrategy strategy);

#endif							/* ZHEAP_VACUUM_H */
