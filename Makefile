# zheap - a PostgreSQL table access method with undo
#
#   make               build zheap.so
#   make install       install it into the server that PG_CONFIG names
#   make installcheck  regress, isolation and TAP tests in temporary instances
#                      (not as root; test/run does all of it, from any account)
#   make tidy          source rules: layers, sizes, names
#   make bench         bench/must_show: every figure against its target

MODULE_big = zheap
EXTENSION  = zheap
DATA       = $(sort $(wildcard sql/zheap--*.sql))
PGFILEDESC = "zheap - table access method with undo"

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))

PG_CPPFLAGS = -I$(srcdir)/include
# -MMD writes one .d file beside each object: see the include at the end.
PG_CFLAGS   = -Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition -fno-plt -MMD -MP
# Our own functions and variables are addressed straight; calls of the server's go through the table
# of addresses, without the stubs of the linkage table, which take cache lines and branch predictions.
# macOS does so by default.
SHLIB_LINK  = $(if $(filter darwin,$(PORTNAME)),,-Wl,-Bsymbolic)

# No JIT bitcode: it doubles the time to build and wins nothing here.
override with_llvm = no

REGRESS        = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS   = --inputdir=test --outputdir=. --load-extension=zheap \
				 --temp-config=test/zheap.conf --temp-instance=tmp_check/regress
REGRESS_PREP   = tmp_check
ISOLATION      = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/iso_*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=zheap \
				 --temp-config=test/zheap.conf --temp-instance=tmp_check/isolation
ifneq ($(wildcard test/t/*.pl),)
TAP_TESTS      = 1
PROVE_TESTS    = test/t/*.pl
endif
# Every server that a TAP test initializes gets the same settings.
export TEMP_CONFIG = $(CURDIR)/test/zheap.conf

EXTRA_CLEAN = $(OBJS:.o=.d) tmp_check results regression.diffs regression.out

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(OBJS): Makefile
-include $(OBJS:.o=.d)

# pg_regress makes only the last directory of its temporary instance
tmp_check:
	mkdir -p $@

.PHONY: tidy bench
tidy:
	@if [ -f test/lint/tidy.py ]; then python3 test/lint/tidy.py .; \
	else echo "test/lint/tidy.py is not there"; fi

bench:
	bench/must_show all
