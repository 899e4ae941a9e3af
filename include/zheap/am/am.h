/*
 * am.h
 *		The two table access methods that the library provides.
 */
#ifndef ZHEAP_AM_H
#define ZHEAP_AM_H

#include "access/tableam.h"
#include "fmgr.h"

/*
 * SQL: zheap_tableam_handler(internal), zheap_undo_handler(internal): handlers of the access
 * methods of tables and of the undo relation.  A table is a zheap table if the former is its
 * access method's handler (base/catalog.h).  Return a constant TableAmRoutine.  ERROR
 * (object_not_in_prerequisite_state) if the library was not preloaded.
 */
extern PGDLLEXPORT Datum zheap_tableam_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum zheap_undo_handler(PG_FUNCTION_ARGS);

/* Return the callbacks that zheap_tableam_handler() returns, a constant.  No errors. */
extern const TableAmRoutine *zam_routine(void);

#endif							/* ZHEAP_AM_H */
