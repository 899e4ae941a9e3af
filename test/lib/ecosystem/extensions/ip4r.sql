-- Addresses and ranges: B-tree, hash and GiST indexes under updates in place, an exclusion constraint.
-- package: postgresql-15-ip4r
-- errors: 1
create extension ip4r;
\set type ip4
\set value '(''10.0.'' || i % 50 || ''.'' || i % 7)::ip4'
\set index '(x)'
\set probe 'x between ''10.0.11.0'' and ''10.0.20.255'''
\i parts/values.sql
\set index 'using hash (x)'
\set probe 'x = ''10.0.17.3'''
\i parts/values.sql
\set type ip4r
\set value '(''10.0.'' || i % 50 || ''.0/'' || 20 + i % 5)::text::ip4r'
\set value 'ip4r((''10.0.'' || i % 50 || ''.0'')::ip4, (''10.0.'' || i % 50 || ''.'' || i % 7)::ip4)'
\set index 'using gist (x)'
\set probe 'x >>= ''10.0.17.3'''
\i parts/values.sql
\set type ipaddress
\set value '(case i % 2 when 0 then ''10.0.'' || i % 50 || ''.1'' else ''fe80::'' || i % 50 end)::ipaddress'
\set index '(x)'
\set probe 'x > ''10.0.30.0'''
\i parts/values.sql
\set type iprange
\set value 'iprange((''10.0.'' || i % 50 || ''.0'')::ipaddress, (''10.0.'' || i % 50 || ''.9'')::ipaddress)'
\set index 'using gist (x)'
\set probe 'x && ''10.0.17.0/24'''
\i parts/values.sql
create table nets (net iprange, n int, exclude using gist (net with &&));
insert into nets values ('10.0.0.0/16', 1), ('10.1.0.0/16', 2), ('fe80::/64', 3);
insert into nets values ('10.1.7.0/24', 4);
update nets set net = '10.2.0.0/16' where n = 2;
insert into nets values ('10.1.7.0/24', 4);
select * from nets order by n;
