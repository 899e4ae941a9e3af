/*
 * mvcc_chain.c
 *		Where in a slot's chain each row's records are.
 *
 * A map is a function of the chain's head alone: a record that can be reached never
 * changes, and a transaction never has two at one place of the undo log (U1, U4).
 * So whoever meets the same head, and the same owner, may use the map, and the
 * owner's next record, which leads to that head, makes it the new head's map.
 *
 * Views have maps of the page that they copied.  Those of the backend outlive the
 * view, so that a command which changes row after row of a page does not walk down
 * the chain for each: from the second walk on they are kept up with each change.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "mvcc_chain.h"

/* of rows with more versions the walk finds the rest */
#define MAX_NODES		16384

typedef struct ChainNode
{
	ZUndoPtr	at;
	ZUndoPtr	prev;			/* the owner's record before, of whatever row */
	uint32		next;			/* node of the row's record before; 0: not known */
} ChainNode;

struct ZChainMap
{
	ZUndoPtr	head;
	uint32		newest[ZPAGE_MAX_OFFSET + 1];	/* 0: not known */
	ChainNode  *nodes;			/* from 1 on */
	uint32		nnodes;
	uint32		size;

	/* where the last one was found: who walks on begins there */
	OffsetNumber last_offnum;
	uint32		last;
};

/* ---- building ---- */

static uint32
node_add(ZChainMap *map, ZUndoPtr at, ZUndoPtr prev, uint32 next)
{
	ChainNode  *node;

	if (map->nnodes + 1 >= map->size)
	{
		map->nodes = repalloc(map->nodes, 2 * map->size * sizeof(ChainNode));
		map->size *= 2;
	}
	node = &map->nodes[++map->nnodes];
	node->at = at;
	node->prev = prev;
	node->next = next;
	return map->nnodes;
}

/* The last row that an insertion may be about. */
static int
insert_last(const ZUndoRecord *rec)
{
	return rec->open_run ? ZPAGE_MAX_OFFSET : Min(ZPAGE_MAX_OFFSET, rec->offnum + rec->count - 1);
}

typedef struct Build
{
	ZChainMap  *map;
	uint32		tail[ZPAGE_MAX_OFFSET + 1]; /* oldest node of the row, 0: none */
	bool		ended[ZPAGE_MAX_OFFSET + 1];	/* nothing is to follow it */
	int			all_ended;		/* all rows from here on are */
} Build;

static void
build_link(Build *build, int offnum, uint32 node)
{
	if (build->tail[offnum] != 0)
		build->map->nodes[build->tail[offnum]].next = node;
	else
		build->map->newest[offnum] = node;
	build->tail[offnum] = node;
}

static void
build_change(Build *build, const ZUndoRecord *rec, ZUndoPtr at)
{
	int			offnum = rec->offnum;

	/* once a record of a row has been left out, so are all below */
	if (build->tail[offnum] != 0 && build->map->nnodes >= MAX_NODES)
		build->ended[offnum] = true;
	if (!build->ended[offnum])
		build_link(build, offnum, node_add(build->map, at, rec->page_prev, 0));
}

/* One node for all its rows: there is nothing before it. */
static void
build_insert(Build *build, const ZUndoRecord *rec, ZUndoPtr at)
{
	int			last = Min(insert_last(rec), build->all_ended - 1);
	uint32		node = 0;

	for (int i = rec->offnum; i <= last; i++)
	{
		if (build->ended[i])
			continue;
		if (node == 0)
			node = node_add(build->map, at, ZUNDO_INVALID, 0);
		build_link(build, i, node);
		build->ended[i] = true;
	}
	if (rec->open_run)
		build->all_ended = Min(build->all_ended, rec->offnum);
}

ZChainMap *
zchain_build(ZPageView *view, ZUndoPtr head, MemoryContext context)
{
	ZChainMap  *map = MemoryContextAllocZero(context, sizeof(ZChainMap));
	ZUndoPtr	ptr = head;
	Build		build = {.map = map,.all_ended = ZPAGE_MAX_OFFSET + 1};

	map->head = head;
	map->size = 64;
	map->nodes = MemoryContextAlloc(context, map->size * sizeof(ChainNode));
	for (;;)
	{
		ZUndoRecord rec;
		Size		len;
		const char *bytes = zundo_read(&view->reader, ptr, &len);

		if (bytes == NULL || zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, &rec) == 0)
			break;
		if (rec.type == ZOP_UPDATE || rec.type == ZOP_DELETE)
			build_change(&build, &rec, ptr);
		else if (rec.type == ZOP_INSERT)
			build_insert(&build, &rec, ptr);
		if (rec.takeover != ZTAKE_OWN)
			break;
		ptr = rec.page_prev;
	}
	return map;
}

void
zchain_free(ZChainMap *map)
{
	pfree(map->nodes);
	pfree(map);
}

/*
 * The owner's next record: it leads to the head.  False: the map is full.
 */
static bool
map_extend(ZChainMap *map, const ZUndoRecord *rec, ZUndoPtr ptr)
{
	Assert(rec->takeover == ZTAKE_OWN && rec->page_prev == map->head);
	if (map->nnodes >= 2 * MAX_NODES)
		return false;
	if (rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE)
		map->newest[rec->offnum] = node_add(map, ptr, rec->page_prev,
											map->newest[rec->offnum]);
	else if (rec->type == ZOP_INSERT)
	{
		int			last = insert_last(rec);
		uint32		node = node_add(map, ptr, ZUNDO_INVALID, 0);

		for (int i = rec->offnum; i <= last; i++)
			map->newest[i] = node;
	}
	map->head = ptr;
	return true;
}

/* ---- looking up ---- */

/* The row's node whose record leads to "from"; 0: none. */
static uint32
node_before(ZChainMap *map, OffsetNumber offnum, ZUndoPtr from)
{
	uint32		node;

	if (from == ZUNDO_INVALID)
		return 0;
	if (map->last_offnum == offnum && map->nodes[map->last].prev == from)
		return map->last;
	node = map->newest[offnum];
	while (node != 0 && map->nodes[node].prev != from)
		node = map->nodes[node].next;
	return node;
}

ZUndoPtr
zchain_find(ZChainMap *map, OffsetNumber offnum, ZUndoPtr from)
{
	uint32		node;

	if (from == map->head)
		node = map->newest[offnum];
	else
	{
		node = node_before(map, offnum, from);
		if (node != 0)
			node = map->nodes[node].next;
	}
	if (node == 0)
		return ZUNDO_INVALID;
	map->last_offnum = offnum;
	map->last = node;
	return map->nodes[node].at;
}

bool
zchain_has(ZChainMap *map, OffsetNumber offnum, ZUndoPtr from)
{
	return from == map->head || node_before(map, offnum, from) != 0;
}

/* ---- the backend's own ---- */

#define CACHE_SIZE	32

static struct
{
	MemoryContext context;		/* NULL: nothing in this transaction so far */
	MemoryContextCallback callback;
	ZChainEntry entries[CACHE_SIZE];
	int			found;			/* the last one */
	int			next;			/* to be replaced */
}			cache;

/* The transaction is over. */
static void
cache_reset(void *arg)
{
	memset(&cache, 0, sizeof(cache));
}

static void
cache_open(void)
{
	cache.context = AllocSetContextCreate(TopTransactionContext, "zheap chain maps",
										  ALLOCSET_DEFAULT_SIZES);
	cache.callback.func = cache_reset;
	MemoryContextRegisterResetCallback(cache.context, &cache.callback);
}

static bool
is_entry_of(const ZChainEntry *entry, FullTransactionId fxid, ZUndoPtr head)
{
	return entry->slot.undo == head && FullTransactionIdEquals(entry->slot.fxid, fxid);
}

static ZChainEntry *
cache_find(FullTransactionId fxid, ZUndoPtr head)
{
	if (cache.context == NULL || !FullTransactionIdIsValid(fxid))
		return NULL;
	if (is_entry_of(&cache.entries[cache.found], fxid, head))
		return &cache.entries[cache.found];
	for (int i = 0; i < CACHE_SIZE; i++)
	{
		if (is_entry_of(&cache.entries[i], fxid, head))
		{
			cache.found = i;
			return &cache.entries[i];
		}
	}
	return NULL;
}

ZChainEntry *
zchain_entry(const ZPageSlot *slot)
{
	return cache_find(slot->fxid, slot->undo);
}

static void
entry_unmap(ZChainEntry *entry)
{
	if (entry->map)
		zchain_free(entry->map);
	entry->map = NULL;
}

void
zchain_entry_add(const ZPageSlot *slot)
{
	ZChainEntry *entry;

	if (cache.context == NULL)
		cache_open();
	entry = &cache.entries[cache.next];
	cache.found = cache.next;
	cache.next = (cache.next + 1) % CACHE_SIZE;
	entry_unmap(entry);
	entry->slot = *slot;
}

ZChainMap *
zchain_entry_build(ZPageView *view, ZChainEntry *entry)
{
	Assert(entry->map == NULL);
	entry->map = zchain_build(view, entry->slot.undo, cache.context);
	return entry->map;
}

void
zmvcc_record_added(FullTransactionId fxid, const ZUndoRecord *rec, ZUndoPtr ptr)
{
	ZChainEntry *entry;

	if (rec->takeover != ZTAKE_OWN)
		return;					/* a chain of its own */
	entry = cache_find(fxid, rec->page_prev);
	if (entry == NULL)
		return;
	if (entry->map && !map_extend(entry->map, rec, ptr))
		entry_unmap(entry);
	entry->slot.undo = ptr;
}
