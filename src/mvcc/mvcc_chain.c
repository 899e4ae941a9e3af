/*
 * mvcc_chain.c
 *		Where in a slot's chain each row's records are.
 *
 * A map is a function of the chain's newest record alone: a record that can be reached never
 * changes, and a transaction never has two at one place of the undo log (U1, U4).
 * So a view that meets the same newest record, and the same owner, may use the map, and the
 * slot's next record, which leads to that newest record, makes it the map of that one.
 *
 * Views have maps of the page that they copied.  Those of the backend outlive the
 * view, so that a command which changes row after row of a page does not walk down
 * the chain for each: from the second walk on they are kept up with each change.
 * They go through the owners that the slot had before, too, as long as these are of
 * our own transaction: each subtransaction is an owner.  When one of them has been
 * rolled back, the slot returns to the newest record before, and so does the map: its nodes
 * are a stack.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "mvcc_chain.h"

/* of rows with more versions the walk finds the rest */
#define MAX_NODES		16384

/* of all maps of the backend together */
#define MAX_MEMORY		((Size) 32 * 1024 * 1024)

/* instead of a node's number: not known (and 0: there is none) */
#define UNKNOWN			PG_UINT32_MAX

/* One record.  An insertion is about rows offnum .. last, a lock about none. */
typedef struct ChainNode
{
	ZUndoPtr	at;
	ZUndoPtr	prev;			/* the same owner's record before, if any */
	FullTransactionId owner;
	CommandId	cid;
	uint32		next;			/* node of the row's record before */
	OffsetNumber offnum;
	OffsetNumber last;
} ChainNode;

struct ZChainMap
{
	uint32		newest[ZPAGE_MAX_OFFSET + 1];
	ChainNode  *nodes;			/* from 1 on, oldest first; the last is the newest record */
	uint32		nnodes;
	uint32		size;
	uint32		floor;			/* above it no record is left out */
	bool		complete;		/* no row is left out */
	ZPageSlot	base;			/* the owner before, or invalid */

	/* where the last one was found: the next walk begins there */
	OffsetNumber last_offnum;
	uint32		last;
};

static bool
is_node(uint32 node)
{
	return node != 0 && node != UNKNOWN;
}

/* ---- building ---- */

static uint32
node_add(ZChainMap *map, const ZUndoRecord *rec, ZUndoPtr at, FullTransactionId owner)
{
	ChainNode  *node;

	if (map->nnodes + 1 >= map->size)
	{
		map->nodes = repalloc(map->nodes, 2 * map->size * sizeof(ChainNode));
		map->size *= 2;
	}
	node = &map->nodes[++map->nnodes];
	node->at = at;
	node->prev = rec->takeover == ZTAKE_OWN ? rec->page_prev : ZUNDO_INVALID;
	node->owner = owner;
	node->cid = rec->cid;
	node->next = 0;
	node->offnum = rec->offnum;
	node->last = rec->offnum;
	if (rec->type == ZOP_INSERT)
	{
		node->next = UNKNOWN;
		node->last = rec->open_run ? ZPAGE_MAX_OFFSET :
			Min(ZPAGE_MAX_OFFSET, rec->offnum + rec->count - 1);
	}
	else if (!zrec_undo_covers(rec, rec->offnum))
		node->last = node->offnum - 1;
	return map->nnodes;
}

typedef struct Build
{
	ZChainMap  *map;
	uint32		tail[ZPAGE_MAX_OFFSET + 1]; /* oldest node of the row, 0: none */
	bool		ended[ZPAGE_MAX_OFFSET + 1];	/* nothing is to follow it */
	bool		gap;			/* a record has been left out */
	uint32		top;			/* nodes before that */
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

/*
 * The next older record.  Once one of a row has been left out, so are all below;
 * but the newest of each row never is.
 */
static void
build_record(Build *build, const ZUndoRecord *rec, ZUndoPtr at, FullTransactionId owner)
{
	ZChainMap  *map = build->map;
	bool		full = map->nnodes >= MAX_NODES;
	uint32		number = node_add(map, rec, at, owner);
	int			first = map->nodes[number].offnum;
	int			last = map->nodes[number].last;
	bool		used = !full;

	for (int i = first; i <= last; i++)
	{
		if (build->ended[i])
			continue;
		if (full && build->tail[i] != 0)
		{
			map->nodes[build->tail[i]].next = UNKNOWN;
			build->ended[i] = true;
			continue;
		}
		build_link(build, i, number);
		build->ended[i] = rec->type == ZOP_INSERT;
		used = true;
	}
	if (used)
		return;
	map->nnodes--;
	if (!build->gap)
		build->top = map->nnodes;
	build->gap = true;
}

static void
reverse_number(uint32 *number, uint32 nnodes)
{
	if (is_node(*number))
		*number = nnodes + 1 - *number;
}

/* The nodes are in the order in which they were found: newest first. */
static void
build_reverse(Build *build)
{
	ZChainMap  *map = build->map;
	uint32		n = map->nnodes;

	for (uint32 i = 1, j = n; i < j; i++, j--)
	{
		ChainNode	node = map->nodes[i];

		map->nodes[i] = map->nodes[j];
		map->nodes[j] = node;
	}
	for (uint32 i = 1; i <= n; i++)
		reverse_number(&map->nodes[i].next, n);
	for (int i = 0; i <= ZPAGE_MAX_OFFSET; i++)
		reverse_number(&map->newest[i], n);
	map->floor = build->gap ? n - build->top : 0;
}

ZChainMap *
zchain_build(ZPageView *view, const ZPageSlot *newest, bool across, MemoryContext context)
{
	ZChainMap  *map = MemoryContextAllocZero(context, sizeof(ZChainMap));
	ZPageSlot	from = *newest;
	Build		build = {.map = map};

	map->size = 16;
	map->nodes = MemoryContextAlloc(context, map->size * sizeof(ChainNode));
	for (;;)
	{
		ZUndoRecord rec;
		Size		len;
		const char *bytes = zundo_read(&view->reader, from.undo, &len);

		if (bytes == NULL || zrec_undo_decode(bytes, len, from.undo, ZFORM_LOG, &rec) == 0)
			break;
		build_record(&build, &rec, from.undo, from.fxid);
		if (rec.takeover == ZTAKE_OWN)
		{
			from.undo = rec.page_prev;
			continue;
		}
		if (rec.takeover == ZTAKE_REUSED)
		{
			if (across && zmvcc_xact_status(rec.slot_prev.fxid) == ZXACT_OWN)
			{
				from = rec.slot_prev;
				continue;
			}
			map->base = rec.slot_prev;
		}
		map->complete = true;
		break;
	}
	build_reverse(&build);
	return map;
}

void
zchain_free(ZChainMap *map)
{
	pfree(map->nodes);
	pfree(map);
}

/* ---- another newest record ---- */

static bool
map_is_of(const ZChainMap *map, const ZPageSlot *newest)
{
	const ChainNode *top = &map->nodes[map->nnodes];

	return map->nnodes > 0 && top->at == newest->undo &&
		FullTransactionIdEquals(top->owner, newest->fxid);
}

/* The slot's next record: it leads to the newest record. */
static void
map_push(ZChainMap *map, const ZUndoRecord *rec, ZUndoPtr ptr, FullTransactionId owner)
{
	uint32		number = node_add(map, rec, ptr, owner);
	ChainNode  *node = &map->nodes[number];

	if (node->last == node->offnum && rec->type != ZOP_INSERT)
		node->next = map->newest[node->offnum];
	for (int i = node->offnum; i <= node->last; i++)
		map->newest[i] = number;
}

/* False: what the newest record before is, is not known. */
static bool
map_pop(ZChainMap *map)
{
	const ChainNode *node = &map->nodes[map->nnodes];

	if (map->nnodes <= map->floor + 1)
		return false;
	for (int i = node->offnum; i <= node->last; i++)
	{
		if (map->newest[i] == map->nnodes)
			map->newest[i] = node->next;
	}
	map->last_offnum = InvalidOffsetNumber;
	map->nnodes--;
	return true;
}

/* ---- looking up ---- */

/* The row's node that is at "from", or the first one below it. */
static uint32
node_from(ZChainMap *map, OffsetNumber offnum, ZUndoPtr from)
{
	uint32		number = map->newest[offnum];

	if (from == ZUNDO_INVALID || map->nnodes == 0)
		return 0;
	if (map->nodes[map->nnodes].at == from)
		return number;
	if (map->last_offnum == offnum)
	{
		ChainNode  *last = &map->nodes[map->last];

		if (last->at == from)
			return map->last;
		if (last->prev == from)
			return last->next;
		if (is_node(last->next) && map->nodes[last->next].at == from)
			return last->next;
	}
	while (is_node(number))
	{
		if (map->nodes[number].at == from)
			return number;
		if (map->nodes[number].prev == from)
			return map->nodes[number].next;
		number = map->nodes[number].next;
	}
	return 0;
}

static ChainNode *
version_node(ZChainMap *map, const ZRowVersion *version)
{
	uint32		number = node_from(map, version->offnum, version->undo);

	if (!is_node(number) ||
		!FullTransactionIdEquals(map->nodes[number].owner, version->fxid))
		return NULL;
	map->last_offnum = version->offnum;
	map->last = number;
	return &map->nodes[number];
}

ZUndoPtr
zchain_find(ZChainMap *map, const ZRowVersion *version)
{
	ChainNode  *node = version_node(map, version);

	return node ? node->at : ZUNDO_INVALID;
}

bool
zchain_command(ZChainMap *map, const ZRowVersion *version, CommandId *cid)
{
	ChainNode  *node = version_node(map, version);

	if (node)
		*cid = node->cid;
	return node != NULL;
}

bool
zchain_has(ZChainMap *map, const ZRowVersion *version)
{
	ZUndoPtr	from = version->undo;
	const ChainNode *top = &map->nodes[map->nnodes];
	const ChainNode *node;

	if (from == ZUNDO_INVALID || map->nnodes == 0)
		return false;
	if (top->at == from)
		return true;
	for (uint32 i = map->newest[version->offnum]; is_node(i); i = node->next)
	{
		node = &map->nodes[i];
		if (!FullTransactionIdEquals(node->owner, top->owner))
			return false;
		if (node->at == from || node->prev == from)
			return true;
	}
	return false;
}

ZChainWhere
zchain_newest(ZChainMap *map, OffsetNumber offnum, ZPageSlot *where)
{
	uint32		number = map->newest[offnum];

	if (is_node(number))
	{
		where->fxid = map->nodes[number].owner;
		where->undo = map->nodes[number].at;
		return ZCHAIN_FOUND;
	}
	*where = map->base;
	return number == 0 && map->complete ? ZCHAIN_BELOW : ZCHAIN_UNKNOWN;
}

/* ---- the backend's own ---- */

/* a slot's entry is one of a few, the one that came first makes room */
#define CACHE_SETS	1024
#define CACHE_WAYS	4

static struct
{
	MemoryContext context;		/* NULL: nothing in this transaction so far */
	MemoryContextCallback callback;
	uint64		epoch;			/* entries of others are empty */
	ZChainEntry entries[CACHE_SETS][CACHE_WAYS];
	uint8		next[CACHE_SETS];	/* to be replaced */
}			cache;

/* The transaction is over, or memory is to be freed. */
static void
cache_reset(void *arg)
{
	cache.context = NULL;
	cache.epoch++;
}

static void
cache_open(void)
{
	cache.context = AllocSetContextCreate(TopTransactionContext, "zheap chain maps",
										  ALLOCSET_DEFAULT_SIZES);
	cache.callback.func = cache_reset;
	MemoryContextRegisterResetCallback(cache.context, &cache.callback);
}

static int
cache_set(ZRelLocator locator, BlockNumber block, int slotno)
{
	return hash_combine(murmurhash32(locator.relNode),
						murmurhash32(block * 32 + slotno)) % CACHE_SETS;
}

static ZChainEntry *
cache_find(ZRelLocator locator, BlockNumber block, int slotno)
{
	ZChainEntry *entry;

	if (cache.context == NULL)
		return NULL;
	entry = cache.entries[cache_set(locator, block, slotno)];
	for (int i = 0; i < CACHE_WAYS; i++, entry++)
	{
		if (entry->epoch == cache.epoch && entry->slotno == slotno &&
			entry->block == block && RelFileNodeEquals(entry->locator, locator))
			return entry;
	}
	return NULL;
}

static bool
is_entry_of(const ZChainEntry *entry, const ZPageSlot *slot)
{
	return entry->slot.undo == slot->undo &&
		FullTransactionIdEquals(entry->slot.fxid, slot->fxid);
}

static void
entry_unmap(ZChainEntry *entry)
{
	if (entry->map)
		zchain_free(entry->map);
	entry->map = NULL;
}

/* Back to the newest record before; without a map if that is not known. */
static void
entry_pop(ZChainEntry *entry)
{
	if (!map_pop(entry->map))
	{
		entry_unmap(entry);
		return;
	}
	entry->slot.fxid = entry->map->nodes[entry->map->nnodes].owner;
	entry->slot.undo = entry->map->nodes[entry->map->nnodes].at;
}

/*
 * What has aborted is rolled back on the page sooner or later, by any backend.
 */
ZChainEntry *
zchain_entry(ZPageView *view, int slotno)
{
	const ZPageSlot *slot = zpage_slot(view->page, NULL, slotno);
	ZChainEntry *entry;

	if (cache.context == NULL || !FullTransactionIdIsValid(slot->fxid))
		return NULL;
	entry = cache_find(zrel_locator(view->rel), view->block, slotno);
	if (entry == NULL)
		return NULL;
	while (entry->map && !is_entry_of(entry, slot) &&
		   zmvcc_xact_status(entry->slot.fxid) == ZXACT_ABORTED)
		entry_pop(entry);
	return is_entry_of(entry, slot) ? entry : NULL;
}

/* If there is one that is ours, the view has an old copy of the page. */
void
zchain_entry_add(ZPageView *view, int slotno)
{
	ZRelLocator locator = zrel_locator(view->rel);
	ZChainEntry *entry = cache_find(locator, view->block, slotno);

	if (cache.context == NULL)
		cache_open();
	if (entry && zmvcc_xact_status(entry->slot.fxid) == ZXACT_OWN)
		return;
	if (entry == NULL)
	{
		int			set = cache_set(locator, view->block, slotno);

		entry = &cache.entries[set][cache.next[set]];
		cache.next[set] = (cache.next[set] + 1) % CACHE_WAYS;
	}
	if (entry->epoch == cache.epoch)
		entry_unmap(entry);
	entry->epoch = cache.epoch;
	entry->locator = locator;
	entry->block = view->block;
	entry->slotno = slotno;
	entry->slot = *zpage_slot(view->page, NULL, slotno);
	entry->map = NULL;
}

static bool
memory_is_used_up(void)
{
	return MemoryContextMemAllocated(cache.context, false) > MAX_MEMORY;
}

static void
unmap_all(void)
{
	for (int i = 0; i < CACHE_SETS * CACHE_WAYS; i++)
	{
		ZChainEntry *entry = &cache.entries[i / CACHE_WAYS][i % CACHE_WAYS];

		if (entry->epoch == cache.epoch)
			entry_unmap(entry);
	}
}

ZChainMap *
zchain_entry_build(ZPageView *view, ZChainEntry *entry)
{
	Assert(entry->map == NULL);
	if (memory_is_used_up())
		unmap_all();
	entry->map = zchain_build(view, &entry->slot, true, cache.context);
	return entry->map;
}

/* False: there cannot be a map, as things stand. */
static bool
entry_extend(ZChainEntry *entry, FullTransactionId fxid, const ZUndoRecord *rec, ZUndoPtr ptr)
{
	ZPageSlot	before = rec->slot_prev;

	if (rec->takeover == ZTAKE_OWN)
	{
		before.fxid = fxid;
		before.undo = rec->page_prev;
	}
	else if (rec->takeover != ZTAKE_REUSED || zmvcc_xact_status(before.fxid) != ZXACT_OWN)
		return false;
	while (entry->map && !map_is_of(entry->map, &before))
		entry_pop(entry);
	if (entry->map == NULL || entry->map->nnodes >= 2 * MAX_NODES ||
		(entry->map->nnodes + 1 >= entry->map->size && memory_is_used_up()))
		return false;
	map_push(entry->map, rec, ptr, fxid);
	return true;
}

void
zmvcc_record_added(FullTransactionId fxid, const ZUndoRecord *rec, ZUndoPtr ptr)
{
	ZChainEntry *entry = cache_find(rec->locator, rec->block, rec->slotno);

	if (entry == NULL)
		return;
	if (entry->map && !entry_extend(entry, fxid, rec, ptr))
		entry_unmap(entry);
	entry->slot.fxid = fxid;
	entry->slot.undo = ptr;
}
