-- An error about the undo page that the transaction appends to, whose pin it keeps: the abort leaves the page unlocked.
create extension if not exists pageinspect;
create table tail_locked (id int, n int) using zheap;
insert into tail_locked select g, 0 from generate_series(1, 20) g;
create function tail_damaged() returns text language plpgsql as $$
declare
	block int8;
	lower int;
	said text;
begin
	for i in 1 .. 10 loop
		update tail_locked set n = n + 1 where id = i;
	end loop;
	select split_part(undo, '/', 1)::int8 into block from zheap.zheap_page_slots('tail_locked', 0)
	 where undo is not null order by split_part(undo, '/', 1)::int8 desc, split_part(undo, '/', 2)::int8 desc limit 1;
	lower = (page_header(get_raw_page('zheap.undo', 'main', block))).lower;
	perform zheap_unit_damage('zheap.undo', block, 12, '\xffff');
	begin
		update tail_locked set n = -1 where id = 15;
	exception when data_corrupted then said = regexp_replace(sqlerrm, '.*block \d+: (undo page of generation) \d+ (ends at).*', '\1 \2');
	end;
	-- waits for ever if it is locked
	perform zheap_unit_damage('zheap.undo', block, 12, set_byte(set_byte('\x0000', 0, lower % 256), 1, lower / 256));
	return coalesce(said, 'nothing');
end $$;
select tail_damaged();
select count(*), sum(n) from tail_locked;
update tail_locked set n = n + 1;
select count(*), sum(n) from tail_locked;
drop table tail_locked;
