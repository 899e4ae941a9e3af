/*
 * am_undo_ddl.c
 *		Refuse statements about the undo relation that make sense only for a table with rows.
 *
 * Columns, triggers, policies, rules, partitions and children would never be used, and some would
 * obstruct DROP EXTENSION or tools.  Tablespace, owner, storage parameters and name may be changed
 * by the user.
 *
 * The server's hooks report most such changes only when they have been made, and some not at all.
 * So a ProcessUtility hook examines the statements.
 *
 * LOCKING: names are looked up without a lock, as it is only to refuse a statement early.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"

#include "zheap/am/am_relation.h"
#include "zheap/undo/undo_relation.h"

static ProcessUtility_hook_type previous_utility = NULL;

/*
 * Return whether the name is the undo relation's, and the user owns it.  For other users the
 * server's own error is clear.
 */
static bool
is_undo(const RangeVar *name)
{
	return name != NULL && zundo_exists() &&
		RangeVarGetRelid(name, NoLock, true) == zundo_relation_oid() &&
		object_ownercheck(RelationRelationId, zundo_relation_oid(), GetUserId());
}

static bool
is_among(const List *names)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (is_undo(lfirst_node(RangeVar, cell)))
			return true;
	}
	return false;
}

/* Return the other table that a part of ALTER TABLE names, or NULL. */
static const RangeVar *
other_table(const AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_AddInherit:
		case AT_DropInherit:
			return (const RangeVar *) cmd->def;
		case AT_AttachPartition:
		case AT_DetachPartition:
			return ((const PartitionCmd *) cmd->def)->name;
		default:
			return NULL;
	}
}

static bool
is_about_storage(const AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_SetTableSpace:
		case AT_SetLogged:
		case AT_ChangeOwner:
		case AT_SetRelOptions:
		case AT_ResetRelOptions:
		case AT_ReplaceRelOptions:
			return true;
		default:
			return false;
	}
}

static bool
alters_undo(const AlterTableStmt *stmt)
{
	bool		is_it = is_undo(stmt->relation);
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		const AlterTableCmd *cmd = lfirst_node(AlterTableCmd, cell);

		if ((is_it && !is_about_storage(cmd)) || is_undo(other_table(cmd)))
			return true;
	}
	return false;
}

/* Return whether the statement gives the undo relation what only tables with rows have. */
static bool
is_refused(const Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_AlterTableStmt:
			return alters_undo((const AlterTableStmt *) stmt);
		case T_CreateStmt:
		case T_CreateForeignTableStmt:	/* begins with one */
			return is_among(((const CreateStmt *) stmt)->inhRelations);
		case T_CreateTrigStmt:
			return is_undo(((const CreateTrigStmt *) stmt)->relation);
		case T_CreatePolicyStmt:
			return is_undo(((const CreatePolicyStmt *) stmt)->table);
		case T_RuleStmt:
			return is_undo(((const RuleStmt *) stmt)->relation);
		case T_IndexStmt:
			return is_undo(((const IndexStmt *) stmt)->relation);
		default:
			return false;
	}
}

/* ProcessUtility hook.  pg_upgrade is let through, as it restores what was there. */
static void
check_undo_ddl(PlannedStmt *pstmt, const char *string, bool read_only, /* tidy: the server's signature */
			   ProcessUtilityContext context, ParamListInfo params,
			   QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	if (!IsBinaryUpgrade && IsTransactionState() && is_refused(pstmt->utilityStmt))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter the undo relation of zheap like a table"),
				 errdetail("The undo relation contains the undo log and no rows."),
				 errhint("Change only its name, tablespace, owner or storage parameters.")));
	(previous_utility ? previous_utility : standard_ProcessUtility)
		(pstmt, string, read_only, context, params, env, dest, qc);
}

void
zam_undo_ddl_register(void)
{
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = check_undo_ddl;
}
