-- Values of every kind of type are stored, read, updated and compared as on heap.
-- One wide row of samples per type class; by-value, by-reference, varlena in all header forms.
create type ty_mood as enum ('sad', 'ok', 'happy');
create type ty_pair as (a int, b text);
create domain ty_small as int check (value < 1000);

-- by value: 1, 2, 4 and 8 bytes between each other, so that nothing is aligned
create table ty_byval (
	id int, b bool, c "char", i2 int2, c2 "char", i4 int4, c3 "char", i8 int8, b2 bool,
	f4 float4, c4 "char", f8 float8, o oid, d date, b3 bool, t time, ts timestamp, c5 "char",
	tz timestamptz, m money, x xid, ci cid, x8 xid8, l pg_lsn, e ty_mood, dm ty_small, rc regclass
) using zheap;
insert into ty_byval values
	(1, true, 'a', 1, 'b', 2, 'c', 3, false, 1.5, 'd', 2.25, 10, '2001-02-03', true, '04:05:06.789',
	 '2001-02-03 04:05:06.789', 'e', '2001-02-03 04:05:06.789+03', 12.34, '7', '8', '9', '1/10000002', 'ok', 5, 'pg_class'),
	(2, false, '', -32768, '', -2147483648, '', -9223372036854775808, true, '-infinity', '', 'nan', 0,
	 '-infinity', false, '00:00', '-infinity', '', '-infinity', -12.34, '0', '0', '0', '0/80000000', 'sad', -5, 'pg_type'),
	(3, null, 'z', 32767, null, 2147483647, 'y', 9223372036854775807, null, 3.4e38, 'x', 1.7e308, 4294967295,
	 'infinity', null, '24:00', 'infinity', null, 'infinity', 0, '4294967295', '4294967295', '18446744073709551615',
	 'FFFFFFFF/FFFFFFFF', 'happy', 999, null);
\x
table ty_byval;
\x
update ty_byval set i2 = i2 - sign(i2)::int2, b = not b, i8 = id, c3 = 'Z', e = 'happy', b3 = true;
select id, b, c, i2, c2, i4, c3, i8, b2, f4, c4, f8, e, b3, x8, l from ty_byval order by id;
update ty_byval set dm = 1000 where id = 1;

-- fixed length, by reference, at every alignment
create table ty_byref (
	id int, pad "char", n name, u uuid, pad2 "char", iv interval, mac macaddr, pad3 bool, mac8 macaddr8,
	tt timetz, p point, pad4 "char", ls lseg, bx box, ln line, ci circle, tid tid, c8 aclitem
) using zheap;
insert into ty_byref
select g, chr(64 + g), 'name' || repeat('n', g * 12), ('00000000-0000-4000-8000-00000000000' || g)::uuid, 'x',
	(g || ' months 2 days 03:04:05.678')::interval, '08:00:2b:01:02:03', g % 2 = 0, '08:00:2b:01:02:03:04:05',
	'04:05:06-08', point(g, 2), 'y', lseg(point(0, 0), point(g, g)), box(point(g, g), point(0, 0)),
	line(point(0, 0), point(1, g)), circle(point(0, 0), g), ('(' || g || ',1)')::tid, '=r/postgres'
from generate_series(1, 4) g;
\x
table ty_byref;
\x
update ty_byref set n = 'short', iv = iv * 2, bx = bx + point(1, 1), pad2 = 'q' where id > 2;
select id, pad, n, u, pad2, iv, bx, ci, tid from ty_byref order by id;
select a.id, b.id from ty_byref a join ty_byref b on a.n = b.n and a.u <> b.u order by 1, 2;

-- varlena: header of one byte, of four, compressed, out of line; aligned and not
create table ty_var (
	id int, b bool, t text, vc varchar(40), c "char", bp char(20), ba bytea, n numeric, b2 bool, j json,
	jb jsonb, x text, bi bit(5), vb varbit, i inet, ci cidr, tsv tsvector, tsq tsquery, pth path, pol polygon,
	jp jsonpath, r int4range, nr numrange, tr tstzrange, mr int4multirange, pr ty_pair, snap pg_snapshot
) using zheap;
insert into ty_var values
	(1, true, '', '', '', '', '', 0, true, '{}', '{}', null, b'00000', b'', '0.0.0.0', '0.0.0.0/0', '', '',
	 '((0,0))', '((0,0))', '$', 'empty', 'empty', 'empty', '{}', row(null, null), '1:1:'),
	(2, false, 'text', 'varchar', 'c', 'bpchar', '\xdeadbeef', -12345.678901234567890123456789, false,
	 '{"a": [1, 2]}', '{"b": {"c": null}}', '<a>1</a>', b'10101', b'1010', '192.168.1.2/24', '10.0.0.0/8',
	 'a fat cat', 'fat & cat', '[(0,0),(1,1)]', '((0,0),(1,1),(1,0))', '$.a[*] ? (@ > 1)', '[1,5)',
	 '(1.5,)', '[2001-01-01 00:00+00,2002-01-01 00:00+00)', '{[1,3),[5,7)}', row(1, 'pair'), '10:20:10,14'),
	(3, null, repeat('t', 126), repeat('v', 40), 'c', repeat('b', 20), decode(repeat('ab', 127), 'hex'), 'NaN', null,
	 null, to_jsonb(array(select generate_series(1, 40))), null, null, repeat('10', 60)::varbit, '::1', '2001:db8::/32',
	 null, null, null, null, null, '(,)', '[,5]', null, '{(,)}', null, null),
	(4, true, repeat('t', 127), null, null, null, decode(repeat('cd', 1000), 'hex'), trim_scale(10::numeric ^ 100), false, null,
	 null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, row(4, repeat('p', 300)), null),
	(5, true, repeat('compressible ', 400), null, null, null, decode(repeat('00', 5000), 'hex'), 'Infinity', false,
	 null, (select jsonb_object_agg('key' || g, g) from generate_series(1, 50) g), null, null, null, null, null, null,
	 null, null, null, null, null, null, null, null, null, null);
select id, b, length(t) as t, length(vc) as vc, c, length(bp) as bp, length(ba) as ba, left(n::text, 30) as n, b2 from ty_var order by id;
select id, j, length(jb::text) as jb, x, bi, length(vb) as vb, i, ci from ty_var order by id;
select id, tsv, tsq, pth, pol, jp, r, nr, lower(tr) = '2001-01-01 00:00+00' as tr, mr, length(pr::text) as pr, snap from ty_var order by id;
select id, md5(row(t, vc, c, bp, ba, n, j, jb, x, bi, vb)::text), md5(row(i, ci, tsv, tsq, pth, pol, jp, r, nr, mr, pr, snap)::text)
  from ty_var order by id;
-- from one header form to another, in place or not
update ty_var set t = repeat('u', length(t) + 1) where id in (1, 3);
update ty_var set t = repeat('u', length(t) - 1) where id = 4;
update ty_var set ba = t::bytea, n = n + 0.5, jb = coalesce(jb, '{}') || '{"new": [1, 2, 3]}', r = int4range(id, 10), pr = row(id, t);
select id, length(t) as t, ba = t::bytea as ba, n, length(jb::text) as jb, r, (pr).a, length((pr).b) as b from ty_var where id < 5 order by id;
update ty_var set t = 'small again', ba = null, jb = null, n = null, pr = null;
select id, b, t, vc, c, bp, n, b2, r from ty_var order by id;

-- arrays: of by-value, varlena, composite elements; empty, multidimensional, with nulls, with bounds
create table ty_arr (id int, b bool, i2 int2[], i4 int[], b2 bool, i8 int8[], t text[], n numeric[], nm name[], u uuid[],
	e ty_mood[], p ty_pair[], iv int2vector, ov oidvector, pt point[], jb jsonb[], d ty_small[]) using zheap;
insert into ty_arr values
	(1, true, '{}', '{}', true, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '', '', '{}', '{}', '{}'),
	(2, false, '{1,2}', '{{1,2},{3,4}}', null, '{9223372036854775807}', '{a,NULL,"c d"}', '{1.5,NaN}', '{n}',
	 '{00000000-0000-4000-8000-000000000001}', '{happy,sad}', array[row(1, 'x')::ty_pair, null], '1 2 3', '4 5',
	 array[point(1, 2)], array['{"a": 1}'::jsonb], '{1,2}'),
	(3, null, '[-1:1]={1,2,3}', null, true, null, array(select 'element ' || g from generate_series(1, 300) g), null, null,
	 null, null, null, null, null, null, null, null);
select id, b, i2, i4, b2, i8, cardinality(t) as t, n, nm, e, p, iv, ov, pt, jb, d from ty_arr order by id;
update ty_arr set i8 = i8 || 5::int8, t[2] = 'two', i2[0] = 9 where id > 1;
update ty_arr set i4[1][1] = 100 where id = 2;
select id, i2, i4, i8, t[1:3] as t, e from ty_arr order by id;

-- expanded objects from plpgsql go in flat
do $$
declare a int[] := '{}'; r ty_pair;
begin
	for i in 1..100 loop a := a || i; end loop;
	r.a := 1; r.b := repeat('r', 200);
	insert into ty_arr (id, i4, p) values (4, a, array[r]);
	a[50] := 0;
	update ty_arr set i4 = a where id = 4;
end $$;
select id, i4[49:51] as i4, cardinality(i4), length((p[1]).b) as p from ty_arr where id = 4;

-- whole rows, records, casts to text and back
create table ty_copy (like ty_byval) using zheap;
insert into ty_copy select * from ty_byval;
select count(*) from ty_copy c join ty_byval b using (id) where row(c.*)::text = row(b.*)::text;
select ((v::text)::ty_byval).id from ty_byval v order by 1;
select v.id from ty_byval v join ty_copy c on row(v.id, v.i2, v.tz, v.e) = row(c.id, c.i2, c.tz, c.e) order by 1;

-- system catalogs' types and a column of the table's own row type
alter table ty_copy add column prev ty_byval;
update ty_copy c set prev = v from ty_byval v where v.id = c.id;
select id, (prev).id as prev_id, (prev).i8 from ty_copy order by id;
drop table ty_copy, ty_byval, ty_byref, ty_var, ty_arr;
drop type ty_mood, ty_pair;
drop domain ty_small;
