/*
 * believer_create.c
 *		Tables that C code of an extension makes, with and without a statement.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "catalog/toasting.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "tcop/utility.h"
#include "utils/builtins.h"

#include "unit_compat.h"

PG_FUNCTION_INFO_V1(believer_create);

static CreateStmt *
statement(char *name, char *method)
{
	CreateStmt *stmt = makeNode(CreateStmt);

	stmt->relation = makeRangeVar(NULL, name, -1);
	stmt->tableElts = list_make2(makeColumnDef("a", INT4OID, -1, InvalidOid),
								 makeColumnDef("b", INT4OID, -1, InvalidOid));
	stmt->accessMethod = method;
	return stmt;
}

/* As TimescaleDB makes chunks and the tables of compressed rows. */
static void
by_define(char *name, char *method)
{
	ObjectAddress made = DefineRelation(statement(name, method), RELKIND_RELATION, GetUserId(),
										NULL, NULL);

	CommandCounterIncrement();
	NewRelationCreateToastTable(made.objectId, (Datum) 0);
}

/* As Apache AGE makes the tables of a graph. */
static void
by_utility(char *name, char *method, ProcessUtilityContext context)
{
	PlannedStmt *pstmt = makeNode(PlannedStmt);

	pstmt->commandType = CMD_UTILITY;
	pstmt->canSetTag = false;
	pstmt->utilityStmt = (Node *) statement(name, method);
	pstmt->stmt_location = -1;
	ProcessUtility(pstmt, "(made by C code)", false, context, NULL, NULL, None_Receiver, NULL);
}

static void
by_catalog(char *name, char *method)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);
	Oid			am = get_table_am_oid(method ? method : default_table_access_method, false);

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 2, "b", INT4OID, -1, 0);
	TupleDescFinalize(desc);
	(void) heap_create_with_catalog(name, RangeVarGetCreationNamespace(makeRangeVar(NULL, name, -1)),
									InvalidOid, InvalidOid, InvalidOid, InvalidOid, GetUserId(),
									am, desc, NIL, RELKIND_RELATION, RELPERSISTENCE_PERMANENT,
									false, false, ONCOMMIT_NOOP, (Datum) 0, false, false, false,
									InvalidOid, NULL);
	CommandCounterIncrement();
}

static void
by_spi(char *name, char *method)
{
	SPI_connect();
	if (SPI_execute(psprintf("create table %s (a int, b int)%s%s", quote_identifier(name),
							 method ? " using " : "", method ? quote_identifier(method) : ""),
					false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not create table \"%s\"", name);
	SPI_finish();
}

/* A table (a, b), made in one of the ways that C code has; null: no access method is named. */
Datum
believer_create(PG_FUNCTION_ARGS)
{
	char	   *name;
	char	   *how;
	char	   *method = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		elog(ERROR, "name and way must not be null");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	how = text_to_cstring(PG_GETARG_TEXT_PP(1));

	if (strcmp(how, "define") == 0)
		by_define(name, method);
	else if (strcmp(how, "subcommand") == 0)
		by_utility(name, method, PROCESS_UTILITY_SUBCOMMAND);
	else if (strcmp(how, "query") == 0)
		by_utility(name, method, PROCESS_UTILITY_QUERY);
	else if (strcmp(how, "catalog") == 0)
		by_catalog(name, method);
	else if (strcmp(how, "spi") == 0)
		by_spi(name, method);
	else
		elog(ERROR, "no such way: %s", how);
	PG_RETURN_VOID();
}
