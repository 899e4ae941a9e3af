/*
 * rollback_all_tables.c
 *		Rolling back without the undo log, by a look at all tables.
 *
 * Undo that cannot be read may be that of any transaction, and about any page.  But each page
 * names, in its slots, the transactions whose changes it has.  When no page of any table names
 * an aborted one, no undo from before is needed.  That costs as much as reading all tables, so
 * it is left to VACUUM of the undo relation; an error in the log says that it is needed.
 *
 * No table is missed: all transactions that could have written the unreadable undo have ended
 * (zrollback_wait_for_older) before pg_class is read, with a snapshot taken after that.  So the
 * files of those that committed are there, and those of the others are gone.  Transactions that
 * began later report their aborts themselves.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "rollback_private.h"

/*
 * One table, rolled back page by page.  After an error the page that failed is skipped, or the
 * table if it could not be opened.
 */
typedef struct Table
{
	Oid			oid;
	bool		at_page;		/* true while "block" is rolled back: an error is about that
								 * page */
	BlockNumber block;
	NameData	name;
	ZTableState state;
} Table;

/*
 * Add a table of this database to the list if undo may be about its pages.  A table to which a
 * transaction in progress gives another access method is seen as it was before.
 */
static bool
take_table(HeapTuple tuple, TupleDesc desc, void *arg)
{
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
	List	  **tables = arg;

	if (RELKIND_HAS_TABLE_AM(form->relkind) && form->relpersistence != RELPERSISTENCE_TEMP &&
		zheap_is_table_am(form->relam))
		*tables = lappend_oid(*tables, form->oid);
	return true;
}

/*
 * Roll back the pages from table->block on; called by zrollback_try().  A process that makes us
 * leave the file has locked the table; if the table has another file then, that has no rows of
 * transactions that had ended before.
 */
static void
roll_back_rest(void *arg)
{
	Table	   *table = arg;
	BlockNumber nblocks;
	Relation	rel;

	table->at_page = false;
	do
	{
		table->state = zrollback_table_open(NULL, table->oid, &rel);
		if (table->state != ZTABLE_OPEN)
			return;
		table->name = rel->rd_rel->relname;
		nblocks = RelationGetNumberOfBlocks(rel);
		for (; table->block < nblocks && !zrollback_tables_make_way(); table->block++)
		{
			CHECK_FOR_INTERRUPTS();
			table->at_page = true;
			Assert(zrollback_file_is_held(rel));	/* R4 */
			zrollback_block(rel, table->block);
			table->at_page = false;
		}
	} while (table->block < nblocks);
	zrollback_tables_close();
}

static bool
is_damage(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DATA_CORRUPTED;
}

static void
report_given_up(const Table *table, const ErrorData *error)
{
	char	   *what = psprintf(_("gave up rolling back rows in block %u of table \"%s\" of database \"%s\": %s"),
								table->block, NameStr(table->name),
								get_database_name(MyDatabaseId), error->message);

	ereport(LOG, (errmsg_internal("%s", what)));
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg_internal("%s", what),
			 errdetail("Changes of aborted transactions may be seen there as if they were committed.")));
}

static void
report(const Table *table, const ErrorData *error)
{
	zrollback_error_report(error, table->oid, table->at_page ?
						   psprintf(_("could not roll back rows in block %u of table \"%s\": %s"),
									table->block, NameStr(table->name), error->message) :
						   psprintf(_("could not roll back rows of the table with OID %u: %s"),
									table->oid, error->message));
}

/*
 * Roll back a table.  Return true if nothing is left.  "naps": how often a lock may still be
 * waited for.
 */
static bool
roll_back_table(Oid oid, bool skip, uint64 *given_up, int *naps)
{
	Table		table = {.oid = oid};
	ErrorData  *error;
	bool		done = true;

	for (;;)
	{
		while ((error = zrollback_try(roll_back_rest, &table)) != NULL)
		{
			zrollback_tables_forget();
			if (skip && table.at_page && is_damage(error))
			{
				report_given_up(&table, error);
				(*given_up)++;
			}
			else
			{
				report(&table, error);
				done = false;
			}
			FreeErrorData(error);
			if (!table.at_page)
				return false;
			table.block++;
		}
		if (table.state != ZTABLE_BUSY || !zrollback_nap(naps))
			return done && table.state != ZTABLE_BUSY;
	}
}

bool
zrollback_all_tables(bool skip, uint64 *given_up)
{
	List	   *tables = NIL;
	ListCell   *cell;
	bool		done = true;
	int			naps = ZROLLBACK_NAPS;

	zrollback_tables_forget();
	zrollback_class_scan(InvalidOid, NULL, 0, take_table, &tables);
	foreach(cell, tables)
		done = roll_back_table(lfirst_oid(cell), skip, given_up, &naps) && done;
	list_free(tables);
	return done;
}
