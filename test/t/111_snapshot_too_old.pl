# With old_snapshot_threshold, VACUUM FULL drops versions that a snapshot would see which is older than that: who reads the table with
# such a snapshot is refused, as on heap, and never sees what came after it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'PostgreSQL 17 has no old_snapshot_threshold any more' if pg_major() >= 17;

my $node = new_server('threshold', [ 'autovacuum = off', 'old_snapshot_threshold = 0', 'zheap.undo_workers = 0' ]);
my $rewrites = 0;

$node->safe_psql('postgres', <<'SQL');
create table h (id int primary key, n int) using heap;
create table z (id int primary key, n int) using zheap;
create table same (id int primary key, n int) using zheap;
insert into h select g, 0 from generate_series(1, 1000) g;
insert into z select g, 0 from generate_series(1, 1000) g;
insert into same select g, 0 from generate_series(1, 1000) g;
SQL

my $old = session($node);

sub answer
{
	my ($sql) = @_;

	return answer_in($old, "savepoint a; $sql; rollback to a");
}

answer_in($old, 'begin isolation level repeatable read; select 1');

# a snapshot counts as old after some seconds
ok(wait_until(sub {
		$rewrites++;
		$node->safe_psql('postgres', $_) foreach ('update h set n = n + 1', 'update z set n = n + 1', 'vacuum full h', 'vacuum full z');
		return answer('select sum(n) from h') =~ /snapshot too old/;
	}), 'heap refuses the snapshot');

foreach my $query ('select sum(n) from z', 'select sum(n) from z tablesample system (100)', "select n from z where ctid = '(0,1)'",
	'set local enable_seqscan = off; select sum(n) from z where id > 0',
	'set local enable_seqscan = off; set local enable_indexscan = off; select sum(n) from z where id > 0')
{
	like(answer($query), qr/snapshot too old/, "zheap does, too: $query");
}
is(answer('select sum(n) from same'), '0', 'a table that nobody has changed can be read');
begin_in($old, 'rollback');
wait_until(sub { ended($old) });
is($node->safe_psql('postgres', 'select sum(n) from z'), 1000 * $rewrites, 'and all by a new snapshot');
$old->quit;
no_crash_in_log($node, 'old snapshots');
$node->stop;
done_testing();
