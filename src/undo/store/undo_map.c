/*
 * undo_map.c
 *		The free map: a bit for each extent, set if it is free.
 *
 * The lowest free extent is used first, so that the end of the relation gets free and can be
 * given back.  The first extent of each group holds the group's map page, and its own bit is
 * never set.
 *
 * LOCKING: the database's lock, exclusively for changes (by undo_extent.c and undo_truncate.c);
 * one map page at a time here.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/undo/undo_relation.h"

#include "store_private.h"
#include "undo_state.h"

BlockNumber
zundo_map_block(BlockNumber extent)
{
	return extent - zundo_map_bit(extent) * ZUNDO_EXTENT_BLOCKS + ZUNDO_MAP_OFFSET;
}

uint32
zundo_map_bit(BlockNumber extent)
{
	Assert(extent % ZUNDO_EXTENT_BLOCKS == 0);
	return extent / ZUNDO_EXTENT_BLOCKS % ZUNDO_GROUP_EXTENTS;
}

/*
 * Note that the map is damaged: no extent is freed or taken from it until the undo relation is
 * made anew.
 */
static void
lose_map(BlockNumber block)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("free map of undo relation \"%s\" is damaged in block %u",
					RelationGetRelationName(zundo_relation()), block),
			 errdetail("Free space of the relation cannot be used, so the relation grows."),
			 errhint("Call zheap.zheap_undo_skip(true) to rebuild the undo relation.")));
	MyUndo.db->map_lost = true;
}

bool
zundo_map_is_lost(BlockNumber extent)
{
	BlockNumber block = zundo_map_block(extent);
	PGAlignedBlock copy;

	if (!MyUndo.db->map_lost && !zundo_page_copy(block, ZUNDO_MAP_MAGIC, copy.data))
		lose_map(block);
	return MyUndo.db->map_lost;
}

/*
 * Set *found to the first set bit in [from, to) of the group that begins with extent number
 * "group".  Returns false if there is none, or if the map page is damaged.
 */
static bool
search_group(uint32 group, uint32 from, uint32 to, uint32 *found)
{
	BlockNumber block = group * ZUNDO_EXTENT_BLOCKS + ZUNDO_MAP_OFFSET;
	PGAlignedBlock copy;
	char	   *bits = PageGetContents(copy.data);
	uint32		bit = from;

	if (!zundo_page_copy(block, ZUNDO_MAP_MAGIC, copy.data))
	{
		lose_map(block);
		return false;
	}
	while (bit < to && !zundo_map_get(copy.data, bit))
		bit += bit % 8 == 0 && bits[bit / 8] == 0 ? 8 : 1;
	*found = bit;
	return bit < to;
}

/* Search on from db->free_hint, group by group, and move the hint. */
BlockNumber
zundo_map_lowest(void)
{
	ZUndoDb    *db = MyUndo.db;
	uint32		end = pg_atomic_read_u32(&db->nblocks) / ZUNDO_EXTENT_BLOCKS;
	uint32		extent = db->free_hint;

	Assert(LWLockHeldByMeInMode(zundo_db_lock(db), LW_EXCLUSIVE));
	if (db->free_extents == 0 || db->map_lost)
		return InvalidBlockNumber;
	while (extent < end)
	{
		uint32		group = extent - extent % ZUNDO_GROUP_EXTENTS;
		uint32		bit;

		if (search_group(group, extent - group,
						 Min(end - group, ZUNDO_GROUP_EXTENTS), &bit))
		{
			db->free_hint = group + bit;
			return (group + bit) * ZUNDO_EXTENT_BLOCKS;
		}
		if (db->map_lost)
			return InvalidBlockNumber;
		extent = group + ZUNDO_GROUP_EXTENTS;
	}
	zheap_corrupt(zundo_relation(), ZUNDO_META_BLOCK, InvalidOffsetNumber,
				  "free map has none of %u free extents", db->free_extents);
}

uint32
zundo_map_free_before(BlockNumber end, uint32 max)
{
	BlockNumber last = end - ZUNDO_EXTENT_BLOCKS;
	uint32		bit = zundo_map_bit(last);
	uint32		n = 0;
	Buffer		buffer = zundo_page_lock(zundo_map_block(last), BUFFER_LOCK_SHARE,
										 ZUNDO_MAP_MAGIC);

	while (n < max && n < bit && zundo_map_get(BufferGetPage(buffer), bit - n))
		n++;
	UnlockReleaseBuffer(buffer);
	return n;
}
