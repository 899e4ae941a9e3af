/* unit_wal_restore.c: rec_restore.c on WAL in memory. */
#include "postgres.h"

#define UNIT_WAL_REPLACE
#include "unit_wal.h"

#include "../../src/record/rec_restore.c"
