# Random changes and queries: index scans that pass by dead ranges, those that do not, and scans of the table agree within one snapshot.
# Seeds are fixed (ZHEAP_TEST_SEED: others); test/ranges is the long run, and runs a schedule again that fails here.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seed = $ENV{ZHEAP_TEST_SEED} // 1;
my $count = short() ? 6 : 12;
my $node = new_server('ranges', [ 'autovacuum = off', 'max_prepared_transactions = 50' ]);

$node->safe_psql('postgres', 'create extension amcheck');
my @failed;

foreach my $how ('', '--at-once')
{
	my ($ok, $out) = python('ranges', '--host', $node->host, '--port', $node->port, '--seed', $seed, '--count', $count,
		$how ? $how : ());

	ok($ok, "schedules $how") or push @failed, $out;
	like($out, qr/^$count schedules, [1-9]\d+ queries, [1-9]\d+ fetches, [1-9]\d+ entries passed by, 0 findings$/m, 'scans have passed by entries');
	diag(($out =~ /([^\n]*)\n\z/)[0]);
}

# ---- a snapshot with the same end as the range's that does not see one of its deletions ----
{
	my $skip = 'set zheap.skip_dead_entries = on; set enable_seqscan = off; set enable_bitmapscan = off;';
	my $query = "$skip select min(k), count(*) from (select k from r where k > 0 order by k) x";
	my ($old, $deleter, $subs, $other) = map { session($node) } 1 .. 4;

	$node->safe_psql('postgres', 'create table r (k int) using zheap; create index r_k on r (k); insert into r select generate_series(1, 2000)');
	$old->query_safe('begin isolation level repeatable read; select count(*) from r');
	$node->safe_psql('postgres', 'delete from r where k <= 100');
	$deleter->query_safe('begin; delete from r where k between 101 and 1000');
	$subs->query_safe('begin; savepoint a; delete from r where k between 1001 and 1500; release a');
	$node->safe_psql('postgres', 'select pg_current_xact_id()');
	$other->query_safe('begin isolation level repeatable read; select 1');
	$subs->query_safe('commit');
	$deleter->query_safe('commit');
	is($node->safe_psql('postgres', $query), '1501|500', "rows deleted by transactions of before, $_") foreach 1 .. 4;
	is($other->query_safe($query), '101|1900', "a snapshot that does not see all of them, $_") foreach 1 .. 3;
	$_->quit foreach $old, $deleter, $subs, $other;
}
$node->stop;
no_crash_in_log($node, 'to the end');
# at the end, where a log that is cut has it
diag($_) foreach @failed;
done_testing();
