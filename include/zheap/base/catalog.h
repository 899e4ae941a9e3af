/*
 * catalog.h
 *		Which relations are zheap tables, and rows of pg_class.
 */
#ifndef ZHEAP_CATALOG_H
#define ZHEAP_CATALOG_H

#include "access/htup.h"
#include "access/skey.h"
#include "access/tupdesc.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * Is it a table of ours?  The access method's handler tells, not its name: anybody may make
 * another access method with the same handler.  Both look into the catalog's caches.
 */
extern bool zheap_is_table(Relation rel);
extern bool zheap_is_table_am(Oid am);

/*
 * What rel->rd_tableam points to in our tables.  Set when the library is loaded, because the
 * callbacks are of higher layers.
 */
struct TableAmRoutine;
extern const struct TableAmRoutine *zheap_table_routine;

/* The access method of a relation, or invalid: it has none, or there is no such relation. */
extern Oid	zheap_relation_am(Oid relid);

/*
 * Call visit(tuple, descriptor, arg) for each row of pg_class that fits the keys, until it
 * returns false.  Index and snapshot as for systable_beginscan(): both may be left out.
 */
typedef bool (*ZClassVisitor) (HeapTuple tuple, TupleDesc desc, void *arg);

extern void zheap_class_scan(Oid index, Snapshot snapshot, ScanKey keys, int nkeys,
							 ZClassVisitor visit, void *arg);

#endif							/* ZHEAP_CATALOG_H */
