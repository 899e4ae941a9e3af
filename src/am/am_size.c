/*
 * am_size.c
 *		How big a table is, and how many rows the planner should expect.
 */
#include "postgres.h"

#include "zheap/am/am.h"
#include "zheap/am/am_relation.h"
#include "zheap/page/page_format.h"
#include "zheap/page/row_format.h"

#define ROW_OVERHEAD	(ZROW_HDR_SIZE + sizeof(ItemIdData))
#define USABLE_BYTES \
	(BLCKSZ - SizeOfPageHeaderData - ZPAGE_SPECIAL_SIZE(ZPAGE_INITIAL_SLOTS))

uint64
zam_relation_size(Relation rel, ForkNumber fork)
{
	return table_block_relation_size(rel, fork);
}

void
zam_relation_estimate_size(Relation rel, int32 *attr_widths, BlockNumber *pages,
						   double *tuples, double *allvisfrac)
{
	table_block_relation_estimate_size(rel, attr_widths, pages, tuples, allvisfrac,
									   ROW_OVERHEAD, USABLE_BYTES);

	/* core guesses from the width alone, but line pointers are limited */
	*tuples = Min(*tuples, (double) *pages * ZPAGE_MAX_OFFSET);
	Assert(*tuples >= 0 && *allvisfrac >= 0 && *allvisfrac <= 1);
}
