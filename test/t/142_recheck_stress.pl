# Rows change columns of hash, GiST and SP-GiST indexes while others read: each scan sees every row once, with its values of one moment,
# and in order, by each index; also beside VACUUM and REINDEX.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seconds = short() ? 5 : 20;

seed();
my $node = new_server('recheck', [ 'autovacuum = off', 'max_wal_size = 1GB' ]);
my $scripts = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', <<'SQL');
create table r(id int primary key, h int, p point, c circle, s point, g int4range, t text) using zheap;
insert into r select x, x % 5, point(x, 0), circle(point(x, 0), 1), point(x, 0), int4range(x, x + 1), 't' || x from generate_series(1, 400) x;
create index r_h on r using hash (h); create index r_p on r using gist (p); create index r_c on r using gist (c);
create index r_s on r using spgist (s); create index r_g on r using gist (g); create index r_t on r using spgist (t);
-- all rows are there, once: by each index, and in the order of distances
create function check_rows() returns void language plpgsql as $$
declare
	what text; n bigint; d bigint; way text; v float8; last float8;
begin
	foreach way in array array['index', 'only', 'bitmap'] loop
		perform set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
			set_config('enable_bitmapscan', case way when 'bitmap' then 'on' else 'off' end, true),
			set_config('enable_indexscan', case way when 'bitmap' then 'off' else 'on' end, true),
			set_config('enable_indexonlyscan', case way when 'only' then 'on' else 'off' end, true);
		foreach what in array array[
			'select id from r where p <@ box ''(0,-1e9),(1e9,1e9)''', 'select p[0] from r where p <@ box ''(0,-1e9),(1e9,1e9)''',
			'select id from r where s <@ box ''(0,-1e9),(1e9,1e9)''', 'select s[0] from r where s <@ box ''(0,-1e9),(1e9,1e9)''',
			'select id from r where c && box ''(0,-1e9),(1e9,1e9)''::circle', 'select id from r where g && int4range(0, 100000000)',
			'select g from r where g && int4range(0, 100000000)', 'select id from r where t ^@ ''t''', 'select t from r where t ^@ ''t''',
			'select id from r where h = 0 union all select id from r where h = 1 union all select id from r where h = 2 union all select id from r where h = 3
			 union all select id from r where h = 4',
			'select id from r order by p <-> point ''(200,50)''', 'select p[0] from r order by p <-> point ''(200,50)''',
			'select s[0] from r order by s <-> point ''(200,50)''', 'select id from r order by c <-> point ''(200,50)'''] loop
			execute 'select count(*), count(distinct x::text) from (' || what || ' offset 0) x' into n, d;
			if n <> 400 or d <> 400 then
				raise exception 'by %: %: % rows, % different', way, what, n, d;
			end if;
		end loop;
		foreach what in array array['p', 's', 'c'] loop
			last = -1;
			for v in execute format('select %s <-> point ''(200,50)'' from r order by %1$s <-> point ''(200,50)'' limit 100', what) loop
				if v < last then raise exception 'by %: % is after % in the order of %', way, v, last, what; end if;
				last = v;
			end loop;
		end loop;
	end loop;
end $$;
SQL

append_to_file("$scripts/update.sql", <<'SQL');
\set id random(1, 400)
\set y random(-20, 20)
\set how random(1, 4)
begin;
\if :how = 1
update r set p = point(id, :y), s = point(id, -(:y)) where id = :id;
update r set h = (h + :how) % 5 where id = :id;
\elif :how = 2
update r set c = circle(point(id, :y), 1), h = abs(:y) % 5 where id = :id;
\elif :how = 3
update r set g = int4range(id + 1000 * abs(:y), id + 1000 * abs(:y) + 1), t = 't' || :y || '.' || id where id = :id;
\else
update r set p = point(id, 1 - p[1]), s = point(id, 1 - s[1]), g = int4range(id, id + 1), t = 't' || id where id = :id;
\endif
\if :y > 15
rollback;
\else
commit;
\endif
SQL
append_to_file("$scripts/check.sql", "select check_rows();\n");
append_to_file("$scripts/snapshot.sql", <<'SQL');
begin isolation level repeatable read;
select check_rows();
\sleep 200 ms
select check_rows();
commit;
SQL
append_to_file("$scripts/maintain.sql", <<'SQL');
vacuum r;
\sleep 300 ms
reindex table r;
\sleep 300 ms
SQL

my $writers = pgbench_start($node, '-c', 3, '-T', $seconds, '-f', "$scripts/update.sql");
my $maintenance = pgbench_start($node, '-c', 1, '-T', $seconds, '-f', "$scripts/maintain.sql");
$node->command_ok([ 'pgbench', '-n', '-c', 3, '-T', $seconds, '-f', "$scripts/check.sql\@2", '-f', "$scripts/snapshot.sql\@1", 'postgres' ],
	'each scan sees every row once');
foreach my $run ($writers, $maintenance)
{
	my ($code, undef, $err) = pgbench_finish($run);
	is($code, 0, 'no errors beside') or diag($err);
}
is($node->safe_psql('postgres', 'select check_rows()'), '', 'afterwards, too');
is($node->safe_psql('postgres', q(select * from zheap.zheap_verify('r'))), '', 'verified');
ok($node->safe_psql('postgres', q(select updated_several_keys > moved_index from zheap.zheap_stat_tables where relname = 'r')) eq 't', 'most in place');
done_testing();
