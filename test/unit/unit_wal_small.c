/* unit_wal_small.c: rec_small.c on WAL in memory. */
#include "postgres.h"

#define UNIT_WAL_REPLACE
#include "unit_wal.h"

#include "../../src/record/rec_small.c"
