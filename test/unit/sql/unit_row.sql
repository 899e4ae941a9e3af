-- Rows: what is formed from values of any kind comes back from the bytes, and
-- damaged bytes are noticed or harmless (memory behind a row is out of bounds).
select zheap_unit_row(1, 3000);
select zheap_unit_row(null, 1000);
select zheap_unit_row_damage(1, 1000);
select zheap_unit_row_damage(null, 500);
