-- The tuple slot: rows stored and read in steps, copied to and from slots of all
-- kinds, values stored by core, system columns, damaged rows.
select zheap_unit_slot(1, 1000);
select zheap_unit_slot(null, 500);

select zheap_unit_slot_damage('none');
\set VERBOSITY sqlstate
select zheap_unit_slot_damage('bytes');
select zheap_unit_slot_damage('length');
\set VERBOSITY terse
select zheap_unit_slot_damage('system');
