/* unit_wal_change.c: rec_change.c on WAL in memory. */
#include "postgres.h"

#define UNIT_WAL_REPLACE
#include "unit_wal.h"

#include "../../src/record/rec_change.c"
