/*
 * table_indexes.c
 *		What is known of a table's indexes.
 *
 * The server sends an invalidation whenever one of its descriptions of a relation may have
 * changed; then what was made from them is rebuilt.
 *
 * LOCKING: may read catalogs, so no buffer is locked.
 */
#include "postgres.h"

#include "access/gin.h"
#include "access/gin_private.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/nodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "zheap/base/base.h"
#include "zheap/btree/index_recheck.h"
#include "zheap/btree/table_indexes.h"

/* Tables remembered at the same time; with one more all are forgotten. */
#define MAX_TABLES		1024

/* Places in a cache of tables that a transaction uses in turn, found without a hash lookup. */
#define RECENT			16

static uint64 generation = 1;
static HTAB *tables = NULL;
static HTAB *members = NULL;	/* Oids of these tables and their indexes */
static ZTableIndexes *recent[RECENT];

/*
 * Count an invalidation of a known table or index, or of all.  Other relations, above all
 * temporary tables, are created and dropped often, and do not count.
 */
static void
count_generation(Oid relid)
{
	if (!OidIsValid(relid) ||
		(members != NULL && hash_search(members, &relid, HASH_FIND, NULL) != NULL))
		generation++;
}

/* Register a relation before anything is read of it, so that no invalidation is missed. */
static void
add_member(Oid relid)
{
	(void) hash_search(members, &relid, HASH_ENTER, NULL);
}

/* Drop the cache. */
static void
forget_tables(void)
{
	HASH_SEQ_STATUS seq;
	ZTableIndexes *known;

	hash_seq_init(&seq, tables);
	while ((known = hash_seq_search(&seq)) != NULL)
	{
		if (known->context != NULL)
			MemoryContextDelete(known->context);
	}
	hash_destroy(tables);
	hash_destroy(members);
	memset(recent, 0, sizeof(recent));
	tables = members = NULL;
}

/*
 * Return the cache's entry of a table; generation is 0 if it has just been made.  Creates the
 * cache, and empties a full one.
 */
static ZTableIndexes *
table_find(Oid relid)
{
	ZTableIndexes *known;
	bool		found;

	if (tables != NULL && hash_get_num_entries(tables) >= MAX_TABLES &&
		hash_search(tables, &relid, HASH_FIND, NULL) == NULL)
		forget_tables();
	if (members == NULL)
	{
		HASHCTL		info = {.keysize = sizeof(Oid),.entrysize = sizeof(Oid)};

		members = hash_create("zheap tables and their indexes", 256, &info,
							  HASH_ELEM | HASH_BLOBS);
	}
	if (tables == NULL)
	{
		static bool registered = false;
		HASHCTL		info = {.keysize = sizeof(Oid),.entrysize = sizeof(ZTableIndexes)};

		if (!registered)
			zheap_watch_relations(count_generation);
		registered = true;
		tables = hash_create("indexes of zheap tables", 64, &info, HASH_ELEM | HASH_BLOBS);
	}
	add_member(relid);
	known = hash_search(tables, &relid, HASH_ENTER, &found);
	if (!found)
	{
		known->context = NULL;
		known->generation = 0;
	}
	return known;
}

/* ---- one index ---- */

bool
zindex_has_plain_columns(Relation index)
{
	return heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/*
 * Return whether keys of the index are equal only if their bytes are, and are stored as in the
 * table.  Not so for "name", which an index stores as a string, nor for included columns, which
 * may differ where the keys don't.
 *
 * Of two types, equalimage is, or was, wrong: of char(n), which ignores trailing blanks, and
 * before 15.5 of interval ('1 day' and '24:00:00').  The answer may change with a minor version
 * while the entries stay.  A domain has the operator classes of its base type; arrays, ranges and
 * rows are never equalimage.
 */
static bool
keys_compare_bytewise(Relation table, Relation index)
{
	int			natts = IndexRelationGetNumberOfAttributes(index);

	if (IndexRelationGetNumberOfKeyAttributes(index) != natts || !_bt_allequalimage(index, false))
		return false;
	for (int i = 0; i < natts; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		Oid			type = index->rd_opcintype[i];

		if (attno <= 0 || type == BPCHAROID || type == INTERVALOID ||
			TupleDescAttr(RelationGetDescr(table), attno - 1)->atttypid !=
			TupleDescAttr(RelationGetDescr(index), i)->atttypid)
			return false;
	}
	return true;
}

ZIndexChange
zindex_kind(Relation table, Relation index)
{
	if (index->rd_rel->relam != BTREE_AM_OID || index->rd_index->indisunique ||
		index->rd_index->indisexclusion)
		return ZINDEX_MOVES;
	return zindex_has_plain_columns(index) && keys_compare_bytewise(table, index) ?
		ZINDEX_ADDS : ZINDEX_COMPARES;
}

bool
zindex_may_have_several_keys(Relation table, Relation index)
{
	return zindex_kind(table, index) != ZINDEX_MOVES;
}

/* Return whether the function is this one of a library that comes with the server. */
static bool
is_function_of(Oid function, const char *library, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		isnull;
	Datum		value;
	bool		is;

	if (!HeapTupleIsValid(tuple))
		return false;
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	is = !isnull && strcmp(TextDatumGetCString(value), name) == 0;
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	is = is && !isnull && strcmp(TextDatumGetCString(value), library) == 0;
	ReleaseSysCache(tuple);
	return is;
}

/*
 * Return whether searches by the operator class, whose function "consistent" is given, find all
 * the rows with one more key that they find without it.  Not so where a query can ask for the
 * absence of a key, as one of tsvector or intarray does: a key that a row has lost would hide it.
 */
static bool
keys_only_add_rows(Oid consistent)
{
	return consistent == F_GINARRAYCONSISTENT || consistent == F_GIN_CONSISTENT_JSONB ||
		consistent == F_GIN_CONSISTENT_JSONB_PATH ||
		is_function_of(consistent, "$libdir/pg_trgm", "gin_trgm_consistent") ||
		is_function_of(consistent, "$libdir/btree_gin", "gin_btree_consistent") ||
		is_function_of(consistent, "$libdir/hstore", "gin_consistent_hstore");
}

bool
zindex_merges(Relation index)
{
	if (!zindex_has_plain_columns(index))
		return false;
	if (index->rd_rel->relam != GIN_AM_OID)
		return is_function_of(index->rd_amhandler, "$libdir/bloom", "blhandler");
	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
	{
		if (!keys_only_add_rows(index_getprocid(index, i + 1, GIN_CONSISTENT_PROC)))
			return false;
	}
	return true;
}

bool
zindex_rechecks(Relation index)
{
	Oid			method = index->rd_rel->relam;

	if (index->rd_index->indisunique || index->rd_index->indisexclusion ||
		!zindex_has_plain_columns(index))
		return false;
	return method == HASH_AM_OID ||
		((method == GIST_AM_OID || method == SPGIST_AM_OID) && zrecheck_knows_order(index));
}

static Node *
stored_tree(Relation index, AttrNumber attno)
{
	bool		isnull;
	Datum		tree = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, attno, &isnull);

	return isnull ? NULL : stringToNode(TextDatumGetCString(tree));
}

/* Return whether the function is written in another language than C. */
static bool
is_in_other_language(Oid function, void *context)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			language;

	if (!HeapTupleIsValid(tuple))
		return true;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language != INTERNALlanguageId && language != ClanguageId;
}

static bool
runs_other_language(Node *node, void *context)
{
	if (node == NULL)
		return false;
	/* a domain's constraints may be any expressions */
	return IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, is_in_other_language, context) ||
		expression_tree_walker(node, runs_other_language, context);
}

/*
 * Return whether scans and VACUUM may evaluate the index's expressions and predicate.  Functions
 * in C are installed by superusers.  Others may depend on search_path, and may do anything; on
 * heap only writers execute them.
 */
static bool
may_be_evaluated(Relation index)
{
	return !runs_other_language(stored_tree(index, Anum_pg_index_indexprs), NULL) &&
		!runs_other_language(stored_tree(index, Anum_pg_index_indpred), NULL);
}

/* Return the index's kind, or ZINDEX_MOVES if its functions must not be executed by scans. */
static ZIndexChange
watched_kind(Relation table, Relation index)
{
	ZIndexChange kind = zindex_kind(table, index);

	return kind == ZINDEX_COMPARES && !may_be_evaluated(index) ? ZINDEX_MOVES : kind;
}

void
zindex_watch(Relation table, Relation index)
{
	zindex_watch_entries(index, watched_kind(table, index));
}

/*
 * Return whether the index has trigrams, and a pending list.  A change of a text changes many of
 * them, so that the row would move nearly always, after they have been compared.
 */
static bool
lists_trigrams(Relation index)
{
	if (index->rd_rel->relam != GIN_AM_OID || !GinGetUseFastUpdate(index))
		return false;
	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
	{
		if (is_function_of(index_getprocid(index, i + 1, GIN_CONSISTENT_PROC),
						   "$libdir/pg_trgm", "gin_trgm_consistent"))
			return true;
	}
	return false;
}

static ZIndexChange
change_of(Relation table, Relation index)
{
	if (!index->rd_index->indisvalid || !index->rd_index->indisready)
		return ZINDEX_MOVES;
	if (index->rd_rel->relam == BRIN_AM_OID && zindex_has_plain_columns(index))
		return ZINDEX_SUMMARIZES;
	if (zindex_merges(index))
		return lists_trigrams(index) ? ZINDEX_MOVES : ZINDEX_MERGES;
	if (zindex_rechecks(index))
		return ZINDEX_RECHECKS;
	return watched_kind(table, index);
}

/*
 * Return the columns that the index uses.  Like the server, take the stored trees, not the
 * simplified ones, as simplifying may execute functions.
 */
static Bitmapset *
columns_of(Relation index)
{
	Bitmapset  *columns = NULL;

	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];

		if (attno != 0)
			columns = bms_add_member(columns, attno - FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos(stored_tree(index, Anum_pg_index_indexprs), 1, &columns);
	pull_varattnos(stored_tree(index, Anum_pg_index_indpred), 1, &columns);
	return columns;
}

/* ---- the table ---- */

static Bitmapset *
key_columns_of(Relation index)
{
	Bitmapset  *columns = NULL;

	if (!index->rd_index->indisunique || !zindex_has_plain_columns(index))
		return NULL;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		columns = bms_add_member(columns, index->rd_index->indkey.values[i] -
								 FirstLowInvalidHeapAttributeNumber);
	return columns;
}

static bool
is_plain_btree(Relation index)
{
	return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisvalid &&
		index->rd_index->indisready && zindex_has_plain_columns(index);
}

/* Return the counter of rows that move because of the index, if it is one of ZINDEX_MOVES. */
static ZTableCounter
moved_of(Relation index)
{
	if (!index->rd_index->indisvalid || !index->rd_index->indisready)
		return ZTABLE_MOVED_INVALID;
	if (index->rd_index->indisunique || index->rd_index->indisexclusion)
		return ZTABLE_MOVED_UNIQUE;
	return ZTABLE_MOVED_KIND;
}

/*
 * Add an index to the description of its table, and put our routine into its relation cache entry.
 */
static void
add_index(ZTableIndexes *known, Relation table, Relation index)
{
	ZTableIndex *new = &known->indexes[known->n];
	MemoryContext old;
	Bitmapset  *columns = columns_of(index);
	Bitmapset  *keys = key_columns_of(index);

	new->oid = RelationGetRelid(index);
	new->change = change_of(table, index);
	new->gin = index->rd_rel->relam == GIN_AM_OID;
	new->once = index->rd_rel->relam == HASH_AM_OID;
	new->moved = moved_of(index);
	old = MemoryContextSwitchTo(known->context);
	new->columns = bms_copy(columns);
	known->columns = bms_add_members(known->columns, columns);
	known->keys = bms_add_members(known->keys, keys);
	if (new->oid == RelationGetReplicaIndex(table))
		known->identity = bms_copy(keys);
	MemoryContextSwitchTo(old);
	known->n++;
	known->btrees = known->btrees && is_plain_btree(index);
	if (new->change != ZINDEX_SUMMARIZES)
		known->nentries++;
	if (index->rd_rel->relam == BTREE_AM_OID)
		zindex_watch(table, index);
	else if (index->rd_rel->relam != HASH_AM_OID && zindex_rechecks(index))
		zrecheck_wrap(index);
	else
		zindex_wrap_insertions(index);
}

/*
 * Fill the description; garbage is left in the current context.
 *
 * The indexes are not locked: a reader or a deletion must not wait, where heap does not, for DDL
 * on an index that it does not use.  A committed change of an index sends an invalidation.  An
 * index of a locked table is dropped only long after it has left the list (as the server assumes
 * for replica identity indexes).  A writer that needs entries has locked all indexes.
 */
static void
describe_table(ZTableIndexes *known, Relation table)
{
	List	   *oids = RelationGetIndexList(table);
	int			bit = -1;
	ListCell   *lc;

	known->btrees = true;
	known->indexes = MemoryContextAlloc(known->context,
										Max(list_length(oids), 1) * sizeof(ZTableIndex));
	foreach(lc, oids)
	{
		Relation	index;

		add_member(lfirst_oid(lc));
		index = RelationIdGetRelation(lfirst_oid(lc));
		if (!RelationIsValid(index))
			continue;
		add_index(known, table, index);
		RelationClose(index);
	}
	while ((bit = bms_next_member(known->columns, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		known->whole = known->whole || attno == 0;
		known->highest = Max(known->highest, attno);
	}
	Assert(known->n <= list_length(oids) && known->nentries <= known->n);
}

/*
 * Build the description of a table.
 *
 * An invalidation during the catalog reads makes it out of date at once, for the next call.  An
 * index in use is watched nevertheless.
 */
static void
learn(ZTableIndexes *known, Relation table)
{
	uint64		begin = generation;
	MemoryContext old = CurrentMemoryContext;
	MemoryContext scratch = AllocSetContextCreate(old, "indexes of a zheap table",
												  ALLOCSET_SMALL_SIZES);

	if (known->context != NULL)
		MemoryContextDelete(known->context);
	memset(known, 0, sizeof(*known));
	known->table = RelationGetRelid(table);
	known->context = AllocSetContextCreate(TopMemoryContext, "indexes of a zheap table",
										   ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(scratch);
	describe_table(known, table);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	known->generation = begin;
}

static pg_noinline ZTableIndexes *
find_or_learn(Relation table)
{
	ZTableIndexes *known = table_find(RelationGetRelid(table));

	if (known->generation != generation)
		learn(known, table);
	recent[known->table % RECENT] = known;
	return known;
}

const ZTableIndexes *
ztable_indexes(Relation table)
{
	Oid			relid = RelationGetRelid(table);
	ZTableIndexes *known = recent[relid % RECENT];

	Assert(zheap_may_wait());	/* L2 */
	if (likely(known != NULL && known->table == relid && known->generation == generation))
		return known;
	return find_or_learn(table);
}
