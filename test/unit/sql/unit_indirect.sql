-- Values that are pointers to memory are fetched before they are stored, on every way into a table.
-- The same statements on a heap table and a zheap table; their rows are compared.
create table ind_heap (id int primary key, a text, b int[], c bytea, n int default 0) using heap;
create table ind_zheap (like ind_heap including all) using zheap;
create function ind_before() returns trigger language plpgsql as
	$$ begin return zheap_unit_indirect(new); end $$;
create function ind_after() returns trigger language plpgsql as $$
begin
	raise notice '% % % % %', tg_op, new.id, length(new.a), new.b[1:2], md5(new.c);
	return null;
end $$;
create function ind_run(tab text) returns table (what text, id int, a text, b text, c text, n int) language plpgsql as $$
begin
	execute format('create trigger b before insert or update on %I for each row execute function ind_before()', tab);
	execute format('create trigger a after insert or update on %I for each row execute function ind_after()', tab);
	-- short, compressible and incompressible values
	execute format($q$insert into %I values (1, 'short', array[1, 2], 'bytes'), (2, null, null, null)$q$, tab);
	execute format($q$insert into %I values (3, repeat('long', 5000), array_fill(7, array[3000]), 'x') returning length(a)$q$, tab);
	execute format($q$insert into %I select 4, string_agg(md5(g::text), ''), array_agg(g), string_agg(md5(g::text), '')::bytea from generate_series(1, 2000) g$q$, tab);
	execute format($q$copy %I from program 'printf "5\\tcopied\\t{5,6}\\tb\\t0\\n6\\tcopied too\\t{6}\\tb\\t0\\n"'$q$, tab);
	-- in place, growing, of the key, with values out of line that stay or are replaced
	execute format($q$update %I set n = n + 1$q$, tab);
	execute format($q$update %I set a = a || '!', n = n + 1 where id in (1, 4)$q$, tab);
	execute format($q$update %I set id = id + 10 where id in (2, 3, 5)$q$, tab);
	execute format($q$update %I set a = 'short again', c = null where id = 4$q$, tab);
	execute format($q$insert into %I values (1, 'upsert', '{9}', '') on conflict (id) do update set a = excluded.a, n = -1$q$, tab);
	execute format($q$merge into %I t using (values (6), (7)) x (id) on x.id = t.id when matched then update set a = 'merged' when not matched then insert values (x.id, 'merged', '{1}', 'm')$q$, tab);
	begin
		execute format($q$update %I set a = repeat('undone', 1000)$q$, tab);
		raise exception 'undo';
	exception when raise_exception then null;
	end;
	return query execute format($q$select 'row', id, md5(a), md5(b::text), md5(c), n from %I$q$, tab);
end $$;
create temp table ind_h as select * from ind_run('ind_heap');
create temp table ind_z as select * from ind_run('ind_zheap');
select count(*), count(z.id), count(*) filter (where h is distinct from z) as different from ind_h h full join ind_z z using (id);
-- in later transactions, when the memory is gone
select count(*), count(*) filter (where h is distinct from z) as different from ind_heap h full join ind_zheap z using (id);
update ind_zheap set n = n + 1;
update ind_heap set n = n + 1;
select count(*), count(*) filter (where h is distinct from z) as different from ind_heap h full join ind_zheap z using (id);
drop table ind_heap, ind_zheap;
drop function ind_before, ind_after, ind_run;
