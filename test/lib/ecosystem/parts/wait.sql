-- call wait_for(condition): until a background worker has made it true
create procedure wait_for(condition text) language plpgsql as $$
declare
	met bool;
begin
	for i in 1..6000 loop
		execute 'select ' || condition into met;
		commit;
		if met then
			return;
		end if;
		perform pg_sleep(0.05);
	end loop;
	raise 'has not come true: %', condition;
end $$;
