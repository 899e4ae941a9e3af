/*
 * zheap_corrupt.c
 *		Report damaged bytes on disk.
 */
#include "postgres.h"

#include <stdarg.h>

#include "access/xlogutils.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "zheap/base/base.h"

char *
zheap_format(const char *fmt, va_list args)
{
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list		again;
		int			needed;

		va_copy(again, args);
		needed = appendStringInfoVA(&text, fmt, again);
		va_end(again);
		if (needed == 0)
			return text.data;
		enlargeStringInfo(&text, needed);
	}
}

/*
 * Set the message: the place, in whole sentences for translators.  The reason is not translated,
 * as in the server's own messages of this kind.
 */
static void
damage_message(Relation rel, BlockNumber block, OffsetNumber offnum, const char *reason)
{
	const char *name = rel != NULL ? RelationGetRelationName(rel) : NULL;

	if (name == NULL)
		errmsg("zheap data is damaged in block %u, offset %u: %s", block, offnum, reason);
	else if (!BlockNumberIsValid(block))
		errmsg("zheap data is damaged in relation \"%s\": %s", name, reason);
	else if (!OffsetNumberIsValid(offnum))
		errmsg("zheap data is damaged in relation \"%s\", block %u: %s", name, block, reason);
	else
		errmsg("zheap data is damaged in relation \"%s\", block %u, offset %u: %s",
			   name, block, offnum, reason);
}

void
zheap_corrupt(Relation rel, BlockNumber block, OffsetNumber offnum,
			  const char *fmt,...)
{
	va_list		args;
	char	   *reason;

	/* damage is checked for before a critical section, in which this would be a PANIC (F3) */
	Assert(CritSectionCount == 0 || InRecovery);
	va_start(args, fmt);
	reason = zheap_format(fmt, args);
	va_end(args);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 damage_message(rel, block, offnum, reason)));
}

void
zheap_corrupt_by_heap(Relation rel, BlockNumber block, XLogRecPtr lsn)
{
	Assert(CritSectionCount == 0 || InRecovery);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 damage_message(rel, block, InvalidOffsetNumber,
							"an extension wrote heap rows here"),
			 RelationNeedsWAL(rel) ?
			 errdetail("C code that takes the table for a heap table has changed the page.  "
					   "The WAL record of the last change ends at %X/%X.", LSN_FORMAT_ARGS(lsn)) :
			 errdetail("C code that takes the table for a heap table has changed the page."),
			 errhint("Set \"zheap.skip_heap_rows\" to read and save the other rows.  "
					 "Call zheap.zheap_verify() for details of the damage.")));
}
