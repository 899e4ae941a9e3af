/* unit_wal_rollback.c: rec_rollback.c on WAL in memory. */
#include "postgres.h"

#define UNIT_WAL_REPLACE
#include "unit_wal.h"

#include "../../src/record/rec_rollback.c"
