/*
 * am_size.c
 *		Size of a table, and the planner's estimate of its pages and rows.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"
#include "utils/spccache.h"

#include "zheap/am/am.h"
#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/page/page_format.h"
#include "zheap/page/row_format.h"

#define ROW_OVERHEAD	(ZROW_HDR_SIZE + sizeof(ItemIdData))
#define USABLE_BYTES \
	(BLCKSZ - SizeOfPageHeaderData - ZPAGE_SPECIAL_SIZE(ZPAGE_INITIAL_SLOTS))

/* limits of what is reported to the planner for small tables (pages_worth_an_index) */
#define REPORTED_PAGES			10
#define ROWS_PER_REPORTED_PAGE	2

uint64
zam_relation_size(Relation rel, ForkNumber fork)
{
	zam_refuse_heap_checks(rel);
	zam_refuse_heap_insert(rel);
	return table_block_relation_size(rel, fork);
}

/*
 * Return the number of pages at which an index scan looks cheaper than a scan of the table.
 *
 * The planner charges a scan by the page, so it prefers to scan a page or two, up to some 570 rows
 * with the default costs, to an index scan.  Measured, the index is cheaper from about ten rows
 * on.  Heap's small tables get the index when they are updated, because they bloat; zheap's stay
 * at a page.  So report as many pages as make the scan a little more expensive than to read a page
 * of an index and one of the table.  The server itself reports 10 pages for a small table that was
 * never vacuumed.
 */
static BlockNumber
pages_worth_an_index(Relation rel, double tuples)
{
	double		random_cost;
	double		seq_cost;
	double		wanted;

	get_tablespace_page_costs(rel->rd_rel->reltablespace, &random_cost, &seq_cost);
	if (seq_cost <= 0)
		return 0;
	wanted = (2 * random_cost - tuples * (cpu_tuple_cost + cpu_operator_cost)) / seq_cost + 0.25;
	wanted = Min(ceil(wanted), tuples / ROWS_PER_REPORTED_PAGE);
	return (BlockNumber) Max(Min(wanted, REPORTED_PAGES), 0);
}

void
zam_relation_estimate_size(Relation rel, int32 *attr_widths, BlockNumber *pages,
						   double *tuples, double *allvisfrac)
{
	zheap_target_guard(rel);
	table_block_relation_estimate_size(rel, attr_widths, pages, tuples, allvisfrac,
									   ROW_OVERHEAD, USABLE_BYTES);

	/* the server estimates from the width alone, but line pointers are limited */
	*tuples = Min(*tuples, (double) *pages * ZPAGE_MAX_OFFSET);
	if (*pages < REPORTED_PAGES)
		*pages = Max(*pages, pages_worth_an_index(rel, *tuples));
	Assert(*tuples >= 0 && *allvisfrac >= 0 && *allvisfrac <= 1);
}
