-- Undo records, directories, and pointers in few bytes: what is encoded comes back,
-- and damaged bytes are refused or harmless.
select zheap_unit_undo(1, 2000);
select zheap_unit_undo(null, 2000);
