/* test/unit/zheap_unit--1.0.sql */
\echo Use "CREATE EXTENSION zheap_unit" to load this file. \quit

-- Every test takes a seed (null: any, shown when it fails) and a number of rounds.

create function zheap_unit_row(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

create function zheap_unit_row_damage(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

create function zheap_unit_slot(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

create function zheap_unit_slot_damage(what text) returns void
    language c strict as 'MODULE_PATHNAME';

create function zheap_unit_undo(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

create function zheap_unit_tid(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

create function zheap_unit_page(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

-- Be at work on the table's file, as a sweep is, to the end of the transaction.  False: not to be had at once.
create function zheap_unit_sweep_file(rel regclass) returns boolean
    language c strict as 'MODULE_PATHNAME';

-- Overwrite bytes of a page as it is in the buffer pool.
create function zheap_unit_damage(rel regclass, block bigint, at integer, bytes bytea) returns void
    language c strict as 'MODULE_PATHNAME';

-- Wait while somebody has advisory lock 115, then take note of what others have changed in the catalogs; and look through the
-- index for entries of any row that nobody needs.  Returns how many have been removed.
create function zheap_unit_sweep_index(index regclass) returns bigint
    language c strict as 'MODULE_PATHNAME';

-- Compare; before, wait and take note in the same way.  So may any function of an operator class that reads catalogs.
create function zheap_unit_compare(a integer, b integer) returns integer
    language c strict immutable as 'MODULE_PATHNAME';

create function zheap_unit_page_damage(seed bigint, rounds integer) returns void
    language c called on null input as 'MODULE_PATHNAME';

-- The row, with a pointer to memory in the place of each varlena value.
create function zheap_unit_indirect(r anyelement) returns anyelement
    language c strict as 'MODULE_PATHNAME';

-- Call a callback of the table's access method with a slot of some kind: unit_callbacks.c.
create function zheap_unit_callback(rel regclass, zheap_source regclass, heap_source regclass,
    callback text, kind text, content text, system boolean) returns text
    language c strict as 'MODULE_PATHNAME';

-- What C code may do with slots: unit_copies.c.
create function zheap_unit_copies(rel regclass, heap regclass, change text) returns integer
    language c strict as 'MODULE_PATHNAME';
create function zheap_unit_few_columns(rel regclass, natts integer) returns void
    language c strict as 'MODULE_PATHNAME';
create function zheap_unit_system_columns(rel regclass, elsewhere regclass) returns void
    language c strict as 'MODULE_PATHNAME';
create function zheap_unit_taken_for_heap(rel regclass) returns void
    language c strict as 'MODULE_PATHNAME';

-- One of the server's heap functions, on a table of any access method; of heap_multi_insert() three rows.
create function zheap_unit_heap_write(function text, rel regclass, at tid, literals text[]) returns void
    language c strict as 'MODULE_PATHNAME';
create function zheap_unit_heap_read(function text, rel regclass, at tid) returns boolean
    language c strict as 'MODULE_PATHNAME';
