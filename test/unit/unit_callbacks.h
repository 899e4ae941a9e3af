/*
 * unit_callbacks.h
 *		Rows in slots of any kind, as text to be compared.
 */
#ifndef ZHEAP_UNIT_CALLBACKS_H
#define ZHEAP_UNIT_CALLBACKS_H

#include "executor/tuptable.h"

/* The values of a row, dropped columns left out; toasted ones are read. */
extern char *unit_row_text(TupleTableSlot *slot);

/* Its system columns; NULL: the slot has none, and says so by an error. */
extern char *unit_system_text(TupleTableSlot *slot);

#endif							/* ZHEAP_UNIT_CALLBACKS_H */
