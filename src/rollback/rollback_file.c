/*
 * rollback_file.c
 *		A file as a relation, for the functions that work on pages, without a relcache entry.
 *
 * The relcache entry cannot be used where a file is rolled back without a lock on its table
 * (rollback_table.c), and does not exist where the table is gone for this transaction
 * (rollback_local.c).
 */
#include "postgres.h"

#include "rollback_private.h"

Relation
zrollback_file_describe(ZFileRelation *file, RelFileLocator locator, ProcNumber backend, Oid relid,
						const struct TableAmRoutine *tableam)
{
	/* the storage manager would still write to the struct that is cleared here (R5) */
	Assert(file->data.rd_smgr == NULL);

	memset(file, 0, sizeof(*file));
	(&file->data)->rd_locator = locator;
	file->data.rd_backend = backend;
	file->data.rd_id = relid;
	file->data.rd_tableam = tableam;
	file->data.rd_rel = &file->form;
	return &file->data;
}

void
zrollback_file_close(ZFileRelation *file)
{
	RelationCloseSmgr(&file->data);
	Assert(file->data.rd_smgr == NULL);
}
