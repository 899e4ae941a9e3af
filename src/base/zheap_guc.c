/*
 * zheap_guc.c
 *		Define the settings of the library.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "zheap/base/base.h"

int			zheap_initial_slots;
int			zheap_max_changed_indexes = 100;
bool		zheap_remove_dead_entries = true;
bool		zheap_skip_dead_entries = true;
bool		zheap_skip_heap_rows = false;
int			zheap_status_cache_size = 16;
int			zheap_temp_undo_max_size = 1024 * 1024;
int			zheap_undo_max_size = -1;
int			zheap_undo_hold_warning = 300000;
int			zheap_undo_workers = 3;
int			zheap_undo_worker_naptime = 200;
int			zheap_xmin = ZXMIN_VERSION;

static const struct config_enum_entry xmin_options[] = {
	{"version", ZXMIN_VERSION, false},
	{"transaction", ZXMIN_TRANSACTION, false},
	{NULL, 0, false}
};

/*
 * A check hook.  Values below half of the unit are rounded to 0, which must not mean "no limit".
 */
static bool
is_limit(int *value, void **extra, GucSource source)
{
	if (*value != 0)
		return true;
	GUC_check_errdetail("The value is 0, or rounds to 0 in the setting's unit.");
	GUC_check_errhint("Use -1 for no limit.");
	return false;
}

/* Define the setting that lets other rows be read where heap functions have written. */
static void
define_for_damage(void)
{
	DefineCustomBoolVariable("zheap.skip_heap_rows",
							 "Skips rows that an extension wrote into zheap tables with the server's heap functions.",
							 "Otherwise scans report such rows as damage.  Use this to save the other rows only: "
							 "pages with such rows cannot be written to.",
							 &zheap_skip_heap_rows,
							 false,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
}

/* Define the settings of undo: its limits, the workers, and the warning about holders. */
static void
define_for_undo(void)
{
	DefineCustomIntVariable("zheap.undo_max_size",
							"Limit for the undo that is in use in each database.",
							"A transaction that would exceed it fails.  Beyond half of it, writers wait briefly while "
							"workers have something to roll back.  -1 sets no limit.",
							&zheap_undo_max_size,
							-1, -1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MB,
							is_limit, NULL, NULL);
	DefineCustomIntVariable("zheap.temp_undo_max_size",
							"Limit for the memory of a session's undo of temporary tables.",
							"A transaction that would exceed it fails.  -1 sets no limit.",
							&zheap_temp_undo_max_size,
							1024 * 1024, -1, MAX_KILOBYTES,
							PGC_SUSET, GUC_UNIT_KB,
							is_limit, NULL, NULL);
	DefineCustomIntVariable("zheap.undo_hold_warning",
							"Time after which the transaction or slot that keeps undo is logged.",
							"-1 or 0 turns this off.",
							&zheap_undo_hold_warning,
							300000, -1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("zheap.undo_workers",
							"Number of workers that roll back aborted transactions and discard undo.",
							"With 0, writers and VACUUM of the undo relation do this.",
							&zheap_undo_workers,
							3, 0, ZHEAP_MAX_UNDO_WORKERS,
							PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("zheap.undo_worker_naptime",
							"Time between checks for changes to roll back and undo to discard.",
							NULL,
							&zheap_undo_worker_naptime,
							200, 10, 600000,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

/*
 * The numbers of slots belong to the page layer, and the cache to the mvcc layer, which are above
 * this one.
 */
void
zheap_guc_define(int default_slots, int max_slots, GucIntAssignHook status_cache_assign)
{
	DefineCustomIntVariable("zheap.initial_slots",
							"Number of transaction slots that a new page of a zheap table gets.",
							"As many transactions can change the page at the same time before slots are added, "
							"which happens automatically.  Each slot takes 16 bytes of the page.",
							&zheap_initial_slots,
							default_slots, 1, max_slots,
							PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("zheap.max_changed_indexes",
							"Percentage of a table's indexes up to which an update that changes their columns is made in place.",
							"The row then keeps its address, and only these indexes get an entry.  If more indexes "
							"change, the row moves, and all indexes get an entry.  With 0, every such row moves.",
							&zheap_max_changed_indexes,
							100, 0, 100,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("zheap.remove_dead_entries",
							 "Enables writers to remove index entries of deleted rows, without VACUUM.",
							 "Applies to tables whose indexes are all B-trees on columns.  A session removes the entries of "
							 "rows that it has deleted at the start of a later write to the table.",
							 &zheap_remove_dead_entries,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("zheap.skip_dead_entries",
							 "Enables index scans to skip ranges of entries that only older snapshots need.",
							 "Scans that have read many such entries share the ranges with other scans.",
							 &zheap_skip_dead_entries,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("zheap.status_cache_size",
							"Memory of each session for a cache of transactions that have committed or aborted.",
							"8 bytes per transaction, rounded down to a power of two.  0 disables the cache.",
							&zheap_status_cache_size,
							16, 0, 1024 * 1024,
							PGC_USERSET, GUC_UNIT_KB,
							NULL, status_cache_assign, NULL);
	DefineCustomEnumVariable("zheap.xmin",
							 "What the system column xmin shows.",
							 "\"version\": a number that the row keeps until it is changed.  \"transaction\": the transaction that made the "
							 "version, as long as there may be a snapshot that does not see it, and then 2.",
							 &zheap_xmin,
							 ZXMIN_VERSION, xmin_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	define_for_damage();
	define_for_undo();
	MarkGUCPrefixReserved("zheap");
}
