# pgbench as it is, all four tables on zheap: 1 to 32 clients, simple, extended and prepared, TPC-B, -N and -S.
# No error, no deadlock, sums agree, the small hot tables stay small.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

# of all clients together
my $many = short() ? 800 : 3200;
my $node = new_server('pgbench', [ 'shared_buffers = 128MB', 'max_wal_size = 2GB' ]);
pgbench_init($node, 1);

my $pages = 'select pg_relation_size(\'pgbench_branches\') / 8192, pg_relation_size(\'pgbench_tellers\') / 8192';
my @first = split /\|/, $node->safe_psql('postgres', $pages);
my $transactions = 0;

sub run
{
	my ($what, @options) = @_;
	my ($rc, $out, $err) = pgbench_run($node, @options);

	is($rc, 0, "$what: no failure");
	unlike($err, qr/ERROR|aborted/, "$what: no error");
	my ($n) = $out =~ /number of transactions actually processed: (\d+)/;
	cmp_ok($n // 0, '>', 0, "$what: " . ($n // 0) . ' transactions');
	return $n // 0;
}

foreach my $mode (qw(simple prepared))
{
	foreach my $clients (1, 2, 8, 32)
	{
		$transactions += run("TPC-B, $mode, $clients clients",
			'-M', $mode, '-c', $clients, '-j', 2, '-t', $many / $clients);
		is($node->safe_psql('postgres', 'select count(*) from pgbench_history'), $transactions, 'all are in the history');
	}
	sums_agree($node, $mode);
	reads_agree($node, $mode);
}
my @now = split /\|/, $node->safe_psql('postgres', $pages);
cmp_ok($now[0], '<=', $first[0] + 4, "pgbench_branches has $now[0] pages, at first $first[0]");
cmp_ok($now[1], '<=', $first[1] + 4, "pgbench_tellers has $now[1] pages, at first $first[1]");

my $sizes = 'select pg_relation_size(\'pgbench_accounts\'), pg_relation_size(\'pgbench_accounts_pkey\')';
my $before = $node->safe_psql('postgres', $sizes);
foreach my $mode (qw(simple extended prepared))
{
	foreach my $clients (8, 32)
	{
		run("-N, $mode, $clients clients", '-N', '-M', $mode, '-c', $clients, '-j', 2, '-t', $many / $clients);
		run("-S, $mode, $clients clients", '-S', '-M', $mode, '-c', $clients, '-j', 2, '-t', $many / $clients);
	}
}
is($node->safe_psql('postgres', $sizes), $before, 'simple updates grow neither the accounts nor their index');
is($node->safe_psql('postgres', 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)'),
	't', 'accounts and history agree after -N');
run('all scripts at once', '-b', 'tpcb-like@2', '-b', 'simple-update@2', '-b', 'select-only@2', '-c', 16, '-j', 2, '-t', $many / 16);
reads_agree($node, 'at the end');
btrees_agree($node, 'at the end', qw(pgbench_accounts_pkey pgbench_tellers_pkey pgbench_branches_pkey));

# with partitions, and with the tables made anew in one transaction
pgbench_init($node, 1, '--partitions=3');
run('partitions', '-c', 8, '-j', 2, '-t', $many / 8);
sums_agree($node, 'partitions');
pgbench_init($node, 2, '-I', 'dtGvp');
run('data made by the server', '-c', 8, '-j', 2, '-t', $many / 8);
sums_agree($node, 'data made by the server');

my $log = slurp_file($node->logfile);
unlike($log, qr/deadlock detected/, 'no deadlock');
unlike($log, qr/ERROR:/, 'no error in the log');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
