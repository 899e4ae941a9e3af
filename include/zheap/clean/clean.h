/*
 * clean.h
 *		Work that VACUUM would do, done by writers.  Invariants (G6, G7): README.md.
 */
#ifndef ZHEAP_CLEAN_H
#define ZHEAP_CLEAN_H

#include "utils/rel.h"

#include "zheap/notes/reap.h"

/*
 * A writer's batch, at the start of a write to the table (zreap_hook): remove index entries and
 * free line pointers of the rows that it has noted.  Takes ShareUpdateExclusiveLock on the table
 * for the batch, conditionally; returns without doing anything if the lock is not available or
 * held already, or without a snapshot.  No page is locked on entry and exit.  Errors: those of
 * reading and changing pages, and a cancel.
 */
extern void zclean_by_writer(Relation rel, ZReapNotes *notes);

#endif							/* ZHEAP_CLEAN_H */
