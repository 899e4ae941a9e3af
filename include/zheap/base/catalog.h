/*
 * catalog.h
 *		Recognize zheap tables, and read rows of pg_class.
 */
#ifndef ZHEAP_CATALOG_H
#define ZHEAP_CATALOG_H

#include "access/htup.h"
#include "access/skey.h"
#include "access/tupdesc.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * The value of rel->rd_tableam for our tables.  Set when the library is preloaded, because the
 * callbacks belong to higher layers; otherwise NULL, and there are no zheap tables.
 */
struct TableAmRoutine;
extern const struct TableAmRoutine *zheap_table_routine;

/*
 * Return whether the relation is a zheap table: its access method has our handler, whatever the
 * name of the access method.
 */
static inline bool
zheap_is_table(Relation rel)
{
	return rel->rd_tableam == zheap_table_routine && rel->rd_tableam != NULL;
}

/*
 * Return whether the access method is ours; false if there is none with this OID.  Reads catalog
 * caches, so no content lock may be held (L2).
 */
extern bool zheap_is_table_am(Oid am);

/*
 * Return the OID of a relation's access method; InvalidOid if it has none, or if there is no such
 * relation.  Reads a catalog cache: no content lock may be held.
 */
extern Oid	zheap_relation_am(Oid relid);

typedef bool (*ZClassVisitor) (HeapTuple tuple, TupleDesc desc, void *arg);

/*
 * Call visit(tuple, descriptor, arg) for each row of pg_class that matches the keys, until it
 * returns false.  Index and snapshot are those of systable_beginscan(): InvalidOid and NULL are
 * allowed.  Locks pg_class in AccessShareLock meanwhile.  No content lock may be held.
 */
extern void zheap_class_scan(Oid index, Snapshot snapshot, ScanKey keys, int nkeys,
							 ZClassVisitor visit, void *arg);

#endif							/* ZHEAP_CATALOG_H */
