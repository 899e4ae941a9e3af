/*
 * am.h
 *		The two table access methods that the library provides.
 */
#ifndef ZHEAP_AM_H
#define ZHEAP_AM_H

#include "access/tableam.h"
#include "fmgr.h"

/*
 * SQL: zheap_tableam_handler(internal), zheap_undo_handler(internal).  A table is one of ours
 * if the former is its access method's handler: see base/catalog.h.
 */
extern PGDLLEXPORT Datum zheap_tableam_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum zheap_undo_handler(PG_FUNCTION_ARGS);

/* The callbacks that zheap_tableam_handler() returns; never freed. */
extern const TableAmRoutine *zam_routine(void);

#endif							/* ZHEAP_AM_H */
