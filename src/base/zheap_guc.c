/*
 * zheap_guc.c
 *		Settings of the library.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "zheap/base/base.h"

/* as in page_format.h, which is above this layer */
#define DEFAULT_SLOTS	4
#define MAX_SLOTS		31

int			zheap_initial_slots = DEFAULT_SLOTS;
int			zheap_undo_worker_naptime = 200;

void
zheap_guc_define(void)
{
	DefineCustomIntVariable("zheap.initial_slots",
							"Transaction slots of a new zheap page.",
							"Pages grow more slots by themselves when they need them.",
							&zheap_initial_slots,
							DEFAULT_SLOTS, 1, MAX_SLOTS,
							PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("zheap.undo_worker_naptime",
							"Time between two looks for rolled back changes to apply and undo to discard.",
							NULL,
							&zheap_undo_worker_naptime,
							200, 10, 600000,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("zheap");
}
