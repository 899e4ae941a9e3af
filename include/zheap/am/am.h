/*
 * am.h
 *		The two table access methods that the library provides.
 */
#ifndef ZHEAP_AM_H
#define ZHEAP_AM_H

#include "access/tableam.h"
#include "fmgr.h"

/* The routine of tables, for code that asks whether a relation is one of ours. */
extern const TableAmRoutine *zam_routine(void);

static inline bool
zam_is_zheap(Relation rel)
{
	return rel->rd_tableam == zam_routine();
}

/* SQL: zheap_tableam_handler(internal), zheap_undo_handler(internal) */
extern PGDLLEXPORT Datum zheap_tableam_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum zheap_undo_handler(PG_FUNCTION_ARGS);

#endif							/* ZHEAP_AM_H */
