/*
 * am_default.c
 *		Which tables get zheap by default_table_access_method.
 *
 * Those that a statement makes: CREATE TABLE, CREATE TABLE AS, SELECT INTO, CREATE MATERIALIZED
 * VIEW; and those that ALTER TABLE ... SET ACCESS METHOD DEFAULT rewrites (17).  An extension's C
 * code that makes a table without a statement writes its rows with the server's heap functions,
 * which check no access method and would destroy a zheap table; so does the C code behind most
 * tables of an extension's script.  These get heap.
 *
 * The server reads the global variable default_table_access_method only in DefineRelation() and,
 * since 17, in ATPrepSetAccessMethod(), and calls no hook there.  So the parameter gets a variable
 * of its own, which SET and SHOW use, and the global one holds what a table made now would get.
 * It points to the parameter's value or to a constant, and follows each change before the old
 * value is freed.
 *
 * README.md gives the reasons.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "commands/extension.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/guc.h"

#include "zheap/base/pg_compat_guc.h"
#include "zheap/am/am_relation.h"

#define DEFAULT_SETTING		"default_table_access_method"

static ProcessUtility_hook_type previous_utility = NULL;
static GucStringAssignHook previous_assign = NULL;

/* Variable of the parameter; in place of default_table_access_method. */
static char *setting = NULL;

/* True while a statement is being executed that has not made its table yet. */
static bool in_statement = false;

/*
 * True while the script of an extension is running.  "setting" then is heap, on a nest level of
 * parameters that begin_script() has opened.
 */
static bool in_script = false;

static char heap_name[] = "heap";

static bool
is_zheap(const char *method)
{
	return strcmp(method, ZHEAP_AM_NAME) == 0;
}

/*
 * Make "method" the access method of the next table that names none; heap if that is zheap and no
 * statement is making a table.
 */
static void
offer(char *method)
{
	default_table_access_method = in_statement || !is_zheap(method) ? method : heap_name;
}

static void
set_in_statement(bool value)
{
	in_statement = value;
	offer(setting);
}

/* Called before the server changes "setting" and frees the old value; in aborts, too. */
static void
assign_setting(const char *newval, void *extra)
{
	if (previous_assign)
		previous_assign(newval, extra);
	offer(unconstify(char *, newval));
}

void
zam_default_note_made(void)
{
	if (in_statement)
		set_in_statement(false);
}

/* ---- statements ---- */

/* Return whether ALTER TABLE contains SET ACCESS METHOD DEFAULT (17). */
static bool
sets_default(const AlterTableStmt *alter)
{
	ListCell   *lc;

	foreach(lc, alter->cmds)
	{
		const AlterTableCmd *cmd = (const AlterTableCmd *) lfirst(lc);

		if (cmd->subtype == AT_SetAccessMethod && cmd->name == NULL)
			return true;
	}
	return false;
}

/* Return the table that a statement is to make with the default access method, or NULL. */
static const RangeVar *
made_by_default(const Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_CreateStmt:
			{
				const CreateStmt *create = (const CreateStmt *) stmt;

				/* a partitioned table has no access method, unless USING names one (17) */
				return create->accessMethod || create->partspec ? NULL : create->relation;
			}
		case T_CreateTableAsStmt:
			{
				const IntoClause *into = ((const CreateTableAsStmt *) stmt)->into;

				return into->accessMethod ? NULL : into->rel;
			}
		case T_AlterTableStmt:
			{
				const AlterTableStmt *alter = (const AlterTableStmt *) stmt;

				return sets_default(alter) ? alter->relation : NULL;
			}
		case T_ExplainStmt:
			{
				const Node *query = ((const ExplainStmt *) stmt)->query;

				if (!IsA(query, Query) || ((const Query *) query)->utilityStmt == NULL)
					return NULL;
				return made_by_default(((const Query *) query)->utilityStmt);
			}
		default:
			return NULL;
	}
}

/*
 * Return whether the statement was parsed.  The parser sets the table's place in the text; C code
 * that builds a statement has no text.
 */
static bool
is_parsed(const RangeVar *table)
{
	return table != NULL && table->location >= 0;
}

static bool
runs_script(const Node *stmt)
{
	return IsA(stmt, CreateExtensionStmt) || IsA(stmt, AlterExtensionStmt);
}

/*
 * Set the parameter to heap, if it is zheap, for the rest of the extension's statement.  Return
 * the nest level of parameters, which the caller ends unless an abort does.
 */
static int
begin_script(void)
{
	int			level = NewGUCNestLevel();

	if (is_zheap(setting))
		(void) set_config_option(DEFAULT_SETTING, heap_name, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * ProcessUtility hook: allow zheap as the default while the statement makes its table, and restore
 * the state of the surrounding statement afterwards, after an error as well.
 */
static void
apply_default(PlannedStmt *pstmt, const char *string, bool read_only, /* tidy: the server's signature */
			  ProcessUtilityContext context, ParamListInfo params,
			  QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	bool		script = runs_script(pstmt->utilityStmt);
	bool		makes = is_parsed(made_by_default(pstmt->utilityStmt));
	volatile bool outer = in_statement;
	volatile bool outer_script = in_script;
	volatile int level = 0;

	/* a statement nested in one that has not made its table yet does not get that one's default */
	if (!script && !makes && !in_statement)
	{
		previous_utility(pstmt, string, read_only, context, params, env, dest, qc);
		return;
	}
	if (script)
		level = begin_script();
	in_script = in_script || script;
	/* C code may run an extension's script without CREATE EXTENSION: its tables are heap tables */
	set_in_statement(makes && (in_script || !creating_extension));
	PG_TRY();
	{
		previous_utility(pstmt, string, read_only, context, params, env, dest, qc);
	}
	PG_FINALLY();
	{
		in_script = outer_script;
		set_in_statement(outer);
	}
	PG_END_TRY();
	/* a plain SET in the script outlives it, as with any script */
	if (script)
		AtEOXact_GUC(true, level);
}

/* Give the parameter a variable of its own.  The server never moves the parameter's record. */
static void
take_setting(void)
{
	struct config_string *record = zcompat_string_setting(DEFAULT_SETTING);

	Assert(record->variable == &default_table_access_method);
	setting = *record->variable;
	record->variable = &setting;
	previous_assign = record->assign_hook;
	record->assign_hook = assign_setting;
	offer(setting);
}

void
zam_default_register(void)
{
	take_setting();
	previous_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = apply_default;
}
