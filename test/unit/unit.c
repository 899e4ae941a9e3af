/*
 * unit.c
 *		Runs, seeds, failures, guarded memory.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "unit.h"

PG_MODULE_MAGIC;

/* Largest piece of guarded memory. */
#define GUARDED_SIZE	(1024 * 1024)

static uint64
seed_argument(FunctionCallInfo fcinfo)
{
	if (!PG_ARGISNULL(0))
		return (uint64) PG_GETARG_INT64(0);
	return pg_prng_uint64_range(&pg_global_prng_state, 0, PG_INT32_MAX);
}

/* Whatever fails, also an error raised by the code under test, names the run. */
static void
unit_context(void *arg)
{
	Unit	   *unit = arg;

	errcontext("seed " UINT64_FORMAT ", round %d", unit->seed, unit->round);
}

Datum
unit_repeat(FunctionCallInfo fcinfo, void (*body) (Unit *unit))
{
	Unit		unit;
	ErrorContextCallback callback;
	MemoryContext context;
	MemoryContext old;

	if (PG_ARGISNULL(1))
		elog(ERROR, "number of rounds is missing");
	unit.seed = seed_argument(fcinfo);
	callback.callback = unit_context;
	callback.arg = &unit;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	context = AllocSetContextCreate(CurrentMemoryContext, "zheap unit test",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	for (unit.round = 0; unit.round < PG_GETARG_INT32(1); unit.round++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_prng_seed(&unit.rng, unit.seed ^ ((uint64) unit.round << 40));
		body(&unit);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	error_context_stack = callback.previous;
	PG_RETURN_VOID();
}

void
unit_fail(const char *fmt,...)
{
	char		text[1024];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	elog(ERROR, "%s", text);
}

void
unit_bytes(Unit *unit, void *out, Size len)
{
	char	   *bytes = out;

	for (; len > 0; len--)
		*bytes++ = (char) pg_prng_uint64(&unit->rng);
}

char *
unit_guarded(Size len)
{
	static char *end = NULL;

	if (end == NULL)
	{
		char	   *start = mmap(NULL, GUARDED_SIZE + sysconf(_SC_PAGESIZE),
								 PROT_READ | PROT_WRITE,
								 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (start == MAP_FAILED ||
			mprotect(start + GUARDED_SIZE, sysconf(_SC_PAGESIZE), PROT_NONE) != 0)
			elog(ERROR, "could not make guarded memory: %m");
		end = start + GUARDED_SIZE;
	}
	if (len > GUARDED_SIZE)
		elog(ERROR, "guarded memory is too small");
	return end - len;
}
