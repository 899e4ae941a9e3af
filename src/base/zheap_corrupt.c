/*
 * zheap_corrupt.c
 *		The one way to say that bytes on disk are wrong.
 */
#include "postgres.h"

#include <stdarg.h>

#include "access/xlogutils.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "zheap/base/base.h"

static void
append_place(StringInfo text, Relation rel, BlockNumber block, OffsetNumber offnum)
{
	if (rel != NULL)
		appendStringInfo(text, " in relation \"%s\"", RelationGetRelationName(rel));
	if (BlockNumberIsValid(block))
		appendStringInfo(text, ", block %u", block);
	if (OffsetNumberIsValid(offnum))
		appendStringInfo(text, ", offset %u", offnum);
}

void
zheap_corrupt(Relation rel, BlockNumber block, OffsetNumber offnum,
			  const char *fmt,...)
{
	StringInfoData text;
	StringInfoData place;

	/* damage is looked for before a critical section, in which this would be a PANIC (F3) */
	Assert(CritSectionCount == 0 || InRecovery);
	initStringInfo(&text);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&text, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	initStringInfo(&place);
	append_place(&place, rel, block, offnum);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("zheap data is damaged%s: %s", place.data, text.data)));
}
