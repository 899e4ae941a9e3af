/*
 * verify_hash.c
 *		Check that each row that the snapshot sees is in a hash index, with its hash value.
 *
 * All pages are read in the order of their numbers.  Entries that a split or VACUUM moves
 * meanwhile may be missed, so a row that seems to be missing is looked up once more by an index
 * scan.  The scan would not end if the pages of a bucket formed a circle, so each bucket's pages
 * are followed to the last one before.
 *
 * LOCKING: a page, shared, while it is copied.  The first page of a bucket stays pinned while the
 * others are copied.
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "zheap/base/pg_compat_index.h"

#include "verify_private.h"

#define ENTRIES_A_PAGE	(BLCKSZ / (MAXALIGN(sizeof(IndexTupleData) + sizeof(uint32)) + \
								   sizeof(ItemIdData)))

/* ---- reading the index ---- */

/* The element of an entry in the filter. */
typedef struct HashEntry
{
	uint32		hash;
	ItemPointerData tid;
	uint16		zero;
} HashEntry;

StaticAssertDecl(sizeof(HashEntry) == 12, "HashEntry has no padding");

static HashEntry
hash_entry(uint32 hash, const ItemPointerData *tid)
{
	HashEntry	entry = {.hash = hash,.tid = *tid};

	return entry;
}

/* Add an entry to the bitmap of TIDs and to the filter, or report that it is damaged. */
static void
note_item(Verify *verify, Page page, BlockNumber block, OffsetNumber off)
{
	VerifyIndex *index = verify->index;
	IndexTuple	tuple = verify_index_tuple(page, off);
	OffsetNumber offnum;

	if (tuple == NULL || IndexTupleSize(tuple) < sizeof(IndexTupleData) + sizeof(uint32))
	{
		verify_report_item(verify, block, off);
		return;
	}
	offnum = ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid);
	if (offnum == InvalidOffsetNumber || offnum > ZPAGE_MAX_OFFSET)
	{
		verify_report_entry(verify, &tuple->t_tid, block, off,
							"a line pointer that is not in use");
		return;
	}
	tbm_add_tuples(index->tids, &tuple->t_tid, 1, false);
	/* skip rows that are dead to all; on a standby, only to all snapshots of the primary */
	if (!ItemIdIsDead(PageGetItemId(page, off)) || TransactionStartedDuringRecovery())
	{
		HashEntry	entry = hash_entry(_hash_get_indextuple_hashkey(tuple), &tuple->t_tid);

		bloom_add_element(index->entries, (unsigned char *) &entry, sizeof(entry));
	}
}

static bool
is_hash_page(Page page)
{
	return !PageIsNew(page) && verify_has_special(page, sizeof(HashPageOpaqueData)) &&
		HashPageGetOpaque(page)->hasho_page_id == HASHO_PAGE_ID;
}

/* Add the entries of a page, or report that it is no page of a hash index. */
static void
note_page(Verify *verify, Page page, BlockNumber block)
{
	OffsetNumber max;

	/* pages of zeros exist before they are used */
	if (PageIsNew(page))
		return;
	if (!is_hash_page(page))
	{
		verify_report(verify, "index", "block %u of index \"%s\" is no page of a hash index", block,
					  RelationGetRelationName(verify->index->rel));
		return;
	}
	if ((HashPageGetOpaque(page)->hasho_flag & (LH_BUCKET_PAGE | LH_OVERFLOW_PAGE)) == 0)
		return;
	max = PageGetMaxOffsetNumber(page);
	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
		note_item(verify, page, block, off);
}

/*
 * Follow the pages of a bucket behind its first one, and raise ERROR (index_corrupted) if they
 * form a circle or are damaged.  "page" is a copy of the first page, and is overwritten.
 *
 * While the first page is pinned, no VACUUM or split, nor replay of one, begins to remove pages
 * from the bucket.  One that has begun removes only pages ahead of the one it writes, so none that
 * has been followed already.  Pages are added only behind the last one.
 */
static void
follow_bucket(Relation index, Page page)
{
	HashPageOpaque opaque = HashPageGetOpaque(page);
	Bucket		bucket = opaque->hasho_bucket;
	BlockNumber nblocks = 0;

	for (BlockNumber n = 0; BlockNumberIsValid(opaque->hasho_nextblkno); n++)
	{
		BlockNumber block = opaque->hasho_nextblkno;

		verify_link(index, block, n, &nblocks, "bucket");
		zinspect_copy(index, block, page);
		if (!is_hash_page(page) || (opaque->hasho_flag & LH_OVERFLOW_PAGE) == 0 ||
			opaque->hasho_bucket != bucket)
			verify_damaged_block(index, block);
	}
}

/* A step: read all pages, and follow each bucket while its first page is pinned. */
static void
read_hash(Verify *verify)
{
	Relation	index = verify->index->rel;
	PGAlignedBlock copy;

	for (BlockNumber block = HASH_METAPAGE + 1; block < RelationGetNumberOfBlocks(index); block++)
	{
		Buffer		pin;

		CHECK_FOR_INTERRUPTS();
		pin = ReadBuffer(index, block);
		zinspect_copy(index, block, copy.data);
		note_page(verify, copy.data, block);
		if (is_hash_page(copy.data) &&
			(HashPageGetOpaque(copy.data)->hasho_flag & LH_BUCKET_PAGE) != 0)
			follow_bucket(index, copy.data);
		ReleaseBuffer(pin);
	}
}

/* ---- rows ---- */

/* A step: look up the current row by an index scan, as a query would, and report it if missing. */
static void
search_hash(Verify *verify)
{
	VerifyIndex *index = verify->index;
	Oid			type = index->rel->rd_opcintype[0];
	Oid			equals = get_opfamily_member(index->rel->rd_opfamily[0], type, type,
											 HTEqualStrategyNumber);
	IndexScanDesc scan;
	ScanKeyData key;
	ItemPointer tid;

	if (!OidIsValid(equals))
		return;
	ScanKeyEntryInitialize(&key, 0, 1, HTEqualStrategyNumber, type,
						   index->rel->rd_indcollation[0], get_opcode(equals), index->values[0]);
	scan = index_beginscan(verify->rel, index->rel, SnapshotAny, NULL, 1, 0, SO_NONE);
	index_rescan(scan, &key, 1, NULL, 0);
	do
	{
		CHECK_FOR_INTERRUPTS();
		tid = index_getnext_tid(scan, ForwardScanDirection);
	} while (tid != NULL && !ItemPointerEquals(tid, &verify->slot->tts_tid));
	index_endscan(scan);
	if (tid == NULL)
		verify_report(verify, "index", "the row is not in index \"%s\"",
					  RelationGetRelationName(index->rel));
}

static bool
hash_has(Verify *verify)
{
	VerifyIndex *index = verify->index;
	HashEntry	entry;

	/* hash indexes have no nulls */
	if (index->isnull[0])
		return true;
	entry = hash_entry(_hash_datum2hashkey(index->rel, index->values[0]), &verify->slot->tts_tid);
	if (bloom_lacks_element(index->entries, (unsigned char *) &entry, sizeof(entry)))
		(void) verify_step(verify, "index", search_hash);
	return true;
}

/* ---- the method ---- */

static void
begin_hash(VerifyIndex *index, int memory)
{
	int64		entries = (int64) RelationGetNumberOfBlocks(index->rel) * ENTRIES_A_PAGE;

	index->entries = bloom_create(entries, Max(memory / 2, 1024), 0);
	verify_tids_begin(index, memory / 2);
}

static void
end_hash(VerifyIndex *index)
{
	bloom_free(index->entries);
	verify_tids_end(index);
}

const VerifyMethod verify_hash = {
	.am = HASH_AM_OID,.begin = begin_hash,.read = read_hash,.has = hash_has,.end = end_hash
};
