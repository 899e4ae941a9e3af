/*
 * slot_errors.c
 *		Errors about executor slots: of another access method, or with a damaged row.
 */
#include "postgres.h"

#include "zheap/base/base.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/tid/tid.h"

void
ztuple_slot_report_damage(TupleTableSlot *slot)
{
	ItemPointerData tid = ztid_untagged(&slot->tts_tid);

	zheap_corrupt(NULL, ItemPointerGetBlockNumberNoCheck(&tid),
				  ItemPointerGetOffsetNumberNoCheck(&tid),
				  "row of the table with OID %u is damaged", slot->tts_tableOid);
}

void
ztuple_slot_report_kind(Relation rel, TupleTableSlot *slot)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("tuple slot is of the wrong kind for zheap table \"%s\"",
					RelationGetRelationName(rel)),
			 errdetail("The calling code has made the slot for a table of another access method."),
			 errhint("Code that reads the table must make its slots with table_slot_create() or table_slot_callbacks().")));
}
