/*
 * pg_compat_guc.h
 *		Records of the server's configuration parameters.
 */
#ifndef ZHEAP_PG_COMPAT_GUC_H
#define ZHEAP_PG_COMPAT_GUC_H

#include "utils/guc_tables.h"

/*
 * Return the record of a string parameter, which stays valid for the life of the process.  Raises
 * FATAL if there is no such parameter.
 */
static inline struct config_string *
zcompat_string_setting(const char *name)
{
#if PG_VERSION_NUM >= 190000
	struct config_generic *record = find_option(name, false, false, FATAL);

	Assert(record->vartype == PGC_STRING);
	return &record->_string;
#elif PG_VERSION_NUM >= 160000
	struct config_generic *record = find_option(name, false, false, FATAL);

	Assert(record->vartype == PGC_STRING);
	return (struct config_string *) record;
#else
	struct config_generic **all = get_guc_variables();
	int			count = GetNumConfigOptions();

	for (int i = 0; i < count; i++)
	{
		if (strcmp(all[i]->name, name) != 0)
			continue;
		Assert(all[i]->vartype == PGC_STRING);
		return (struct config_string *) all[i];
	}
	elog(FATAL, "parameter \"%s\" not found", name);
#endif
}

#endif							/* ZHEAP_PG_COMPAT_GUC_H */
