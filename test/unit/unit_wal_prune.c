/* unit_wal_prune.c: rec_prune.c on WAL in memory. */
#include "postgres.h"

#define UNIT_WAL_REPLACE
#include "unit_wal.h"

#include "../../src/record/rec_prune.c"
