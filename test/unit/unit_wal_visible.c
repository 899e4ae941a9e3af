/* unit_wal_visible.c: rec_visible.c on WAL in memory. */
#include "postgres.h"

#define UNIT_WAL_REPLACE
#include "unit_wal.h"

#include "../../src/record/rec_visible.c"
