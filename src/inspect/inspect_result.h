/*
 * inspect_result.h
 *		Rows of the functions' results.
 */
#ifndef ZHEAP_INSPECT_RESULT_H
#define ZHEAP_INSPECT_RESULT_H

#include "access/transam.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/xid8.h"

#define INSPECT_MAX_COLUMNS	32

/* A row, all zeros at first.  A column is null unless it was set. */
typedef struct InspectRow
{
	Datum		values[INSPECT_MAX_COLUMNS];
	bool		is_set[INSPECT_MAX_COLUMNS];
} InspectRow;

/* Set a column. */
static inline void
inspect_set(InspectRow *row, int column, Datum value)
{
	Assert(column >= 0 && column < INSPECT_MAX_COLUMNS);
	row->values[column] = value;
	row->is_set[column] = true;
}

/* Set a column of type int4. */
static inline void
inspect_set_int4(InspectRow *row, int column, int32 number)
{
	inspect_set(row, column, Int32GetDatum(number));
}

/* Set a column of type int8. */
static inline void
inspect_set_int8(InspectRow *row, int column, int64 number)
{
	inspect_set(row, column, Int64GetDatum(number));
}

/* Set a column of type text, or leave it null if "text" is NULL. */
static inline void
inspect_set_text(InspectRow *row, int column, const char *text)
{
	if (text != NULL)
		inspect_set(row, column, CStringGetTextDatum(text));
}

/* Set a column to an OID, or leave it null if that is invalid. */
static inline void
inspect_set_oid(InspectRow *row, int column, Oid oid)
{
	if (OidIsValid(oid))
		inspect_set(row, column, ObjectIdGetDatum(oid));
}

/* Set a column of type xid8, or leave it null if the xid is invalid. */
static inline void
inspect_set_fxid(InspectRow *row, int column, FullTransactionId fxid)
{
	if (FullTransactionIdIsValid(fxid))
		inspect_set(row, column, FullTransactionIdGetDatum(fxid));
}

/*
 * Add the row to the result of a function that has called InitMaterializedSRF(); or return it as
 * the result of one that returns a single row, allocated in the current context.
 */
extern void inspect_put(FunctionCallInfo fcinfo, InspectRow *row);
extern Datum inspect_tuple(FunctionCallInfo fcinfo, InspectRow *row);

#endif							/* ZHEAP_INSPECT_RESULT_H */
