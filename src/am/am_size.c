/*
 * am_size.c
 *		How big a table is, and how many rows the planner should expect.
 */
#include "postgres.h"

#include <math.h>

#include "zheap/am/am.h"
#include "zheap/am/am_relation.h"
#include "zheap/page/page_format.h"
#include "zheap/page/row_format.h"

#define ROW_OVERHEAD	(ZROW_HDR_SIZE + sizeof(ItemIdData))
#define USABLE_BYTES \
	(BLCKSZ - SizeOfPageHeaderData - ZPAGE_SPECIAL_SIZE(ZPAGE_INITIAL_SLOTS))

/* small tables: what is reported to the planner (pages_worth_an_index) */
#define SCAN_DEARER_THAN_INDEX	8.25	/* pages; an index look-up costs 8.15 */
#define ROWS_AS_DEAR_AS_PAGE	80
#define ROWS_PER_REPORTED_PAGE	2

uint64
zam_relation_size(Relation rel, ForkNumber fork)
{
	return table_block_relation_size(rel, fork);
}

/*
 * The planner charges a scan by the page, so it reads all rows of a page or
 * two sooner than it descends an index: up to some 570 rows with the default
 * costs.  Measured, the index is cheaper from about ten rows on.  Heap's
 * small tables that are updated get the index anyhow, because they bloat;
 * ours stay at a page.  So it is told as many pages as make the scan a little
 * dearer.  Core itself reports 10 pages for a small table that was never vacuumed.
 */
static BlockNumber
pages_worth_an_index(double tuples)
{
	double		wanted = SCAN_DEARER_THAN_INDEX - tuples / ROWS_AS_DEAR_AS_PAGE;

	return (BlockNumber) Max(Min(ceil(wanted), tuples / ROWS_PER_REPORTED_PAGE), 0);
}

void
zam_relation_estimate_size(Relation rel, int32 *attr_widths, BlockNumber *pages,
						   double *tuples, double *allvisfrac)
{
	table_block_relation_estimate_size(rel, attr_widths, pages, tuples, allvisfrac,
									   ROW_OVERHEAD, USABLE_BYTES);

	/* core guesses from the width alone, but line pointers are limited */
	*tuples = Min(*tuples, (double) *pages * ZPAGE_MAX_OFFSET);
	*pages = Max(*pages, pages_worth_an_index(*tuples));
	Assert(*tuples >= 0 && *allvisfrac >= 0 && *allvisfrac <= 1);
}
