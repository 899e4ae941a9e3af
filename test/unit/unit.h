/*
 * unit.h
 *		What the unit tests share: one run's random numbers, its failures, and
 *		random rows.
 */
#ifndef ZHEAP_UNIT_H
#define ZHEAP_UNIT_H

#include "access/tupdesc.h"
#include "common/pg_prng.h"
#include "fmgr.h"

#include "zheap/base/pg_compat.h"

/*
 * One call of a test function.  All that is random comes from "rng", so a seed
 * gives the same run again; every failure names it.
 */
typedef struct Unit
{
	uint64		seed;
	int			round;
	pg_prng_state rng;
} Unit;

/*
 * The body of every test function: its arguments are (seed bigint, rounds
 * integer), a null seed means any.  Calls "body" that many times, each in an
 * empty memory context and with random numbers of its own.  Returns void.
 */
extern Datum unit_repeat(FunctionCallInfo fcinfo, void (*body) (Unit *unit));

pg_noreturn extern void unit_fail(const char *fmt,...) pg_attribute_printf(1, 2);

#define unit_check(condition) \
	do { \
		if (!(condition)) \
			unit_fail("%s, line %d: %s", __func__, __LINE__, #condition); \
	} while (0)

/* A number in [low, high]. */
static inline int
unit_int(Unit *unit, int low, int high)
{
	Assert(low <= high);
	return low + (int) pg_prng_uint64_range(&unit->rng, 0, high - low);
}

/* True once in n times. */
static inline bool
unit_once_in(Unit *unit, int n)
{
	return unit_int(unit, 1, n) == 1;
}

extern void unit_bytes(Unit *unit, void *out, Size len);

/* ---- memory that ends where nothing may be read (unit.c) ---- */

/*
 * "len" bytes that end at a page without any access rights: reading past them
 * crashes the server.  Valid until the next call.
 */
extern char *unit_guarded(Size len);

/* ---- random rows (unit_rows.c) ---- */

typedef struct UnitRow
{
	TupleDesc	desc;
	TupleDesc	stored_desc;	/* the first columns of desc: those that rows store */
	Datum	   *values;			/* of all of desc, missing ones included */
	bool	   *isnull;
} UnitRow;

/*
 * A descriptor of natts columns of all kinds of types, some of them dropped, of
 * which the last may be missing in rows.  Room for values comes with it.  Cstrings: no table has
 * any, and from 19 on the server's tuples cannot.
 */
extern void unit_desc_make(Unit *unit, int natts, bool cstrings, UnitRow *row);

/* Number of columns for a descriptor: mostly few, sometimes none or all there may be. */
extern int	unit_natts(Unit *unit);

/* Random values for the columns that rows store; the others keep their missing values. */
extern void unit_values_make(Unit *unit, UnitRow *row);

/* Fail unless these are the row's values, aligned as readers expect them. */
extern void unit_values_compare(const UnitRow *row, int natts,
								const Datum *values, const bool *isnull);

/* Read every byte of the values: they must be there. */
extern void unit_values_touch(TupleDesc desc, int natts,
							  const Datum *values, const bool *isnull);

#endif							/* ZHEAP_UNIT_H */
