\set ECHO none
-- For tests that compare with heap.  The same statement runs in two schemas whose tables differ in the access method:
-- alike() shows the rows, or the error, if these are the same, or else what each of the two says.
\set VERBOSITY terse
set client_min_messages = warning;
drop schema if exists in_heap, in_zheap cascade;
drop function if exists said, alike;
reset client_min_messages;
create schema in_heap;
create schema in_zheap;
create function said(place text, am text, statement text) returns text[] language plpgsql as $$
declare r record; said text[] = '{}';
begin
	perform set_config('search_path', place || ',public', true), set_config('default_table_access_method', am, true);
	begin
		if statement ~* '(^\s*(select|with|values|table|explain)|\sreturning\s)' then
			for r in execute statement loop
				said = said || r::text;
			end loop;
		else
			execute statement;
		end if;
	exception when others then
		return array['ERROR ' || sqlstate || ' ' || replace(sqlerrm, place || '.', '')];
	end;
	return said;
end $$;
create function alike(statement text) returns setof text language plpgsql as $$
declare
	h text[] = said('in_heap', 'heap', statement);
	z text[] = said('in_zheap', 'zheap', statement);
begin
	if statement !~* 'order by' then
		h = array(select unnest(h) order by 1);
		z = array(select unnest(z) order by 1);
	end if;
	if h is distinct from z then
		return query select 'DIFFERENT, heap: ' || h::text || ', zheap: ' || z::text;
	else
		return query select unnest(z);
	end if;
end $$;
\t on
\set ECHO all
