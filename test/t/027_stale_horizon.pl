# Backends differ in what they know to be visible to all: one rolls back a row whose old modifier has lost its slot to another.
# Snapshots that come and go, and aborts on few pages, make that happen; contents and every statement must be right all the same.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('stale', [ 'autovacuum = off', 'zheap.undo_worker_naptime = 10ms' ]);
$node->safe_psql('postgres', <<'SQL');
create table acc (id int primary key, n int, v text) using zheap;
insert into acc select g, 0, 'v' || g from generate_series(1, 600) g;
SQL
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/load.sql", <<'SQL');
\set a random(1, 300)
\set b random(301, 600)
\set d random(-100, 100)
begin;
update acc set n = n + :d where id = :a;
update acc set n = n - :d where id = :b;
commit;
begin;
update acc set v = 'gone', n = n + 5000 where id = :a;
delete from acc where id = :b;
rollback;
SQL
append_to_file("$dir/hold.sql", <<'SQL');
begin isolation level repeatable read;
select pg_current_xact_id(), sum(n) from acc;
\sleep 30 ms
commit;
\sleep 5 ms
SQL
my ($rc, $out, $err) = pgbench_run($node, '-c', 8, '-j', 2, '-T', short() ? 15 : 40,
	'-f', "$dir/load.sql\@9", '-f', "$dir/hold.sql\@1");
is($rc, 0, 'no statement fails') or diag($err);
is($node->safe_psql('postgres', "select sum(n), count(*), count(*) filter (where v = 'gone') from acc"), '0|600|0', 'all rows');
wait_undone($node, 'all is rolled back');
is($node->safe_psql('postgres', "select sum(n), count(*), count(*) filter (where v = 'gone') from acc"), '0|600|0', 'all rows once more');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
