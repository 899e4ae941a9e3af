# Reads, writes, fsyncs, extensions, truncations and allocations fail under load, sessions are cancelled and terminated; then every
# row is compared with what was acknowledged.  The seed is fixed (ZHEAP_TEST_SEED: another); test/torture --faults is the long run.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seed = $ENV{ZHEAP_TEST_SEED} // 1;

chomp(my $bindir = `pg_config --bindir`);

my @kinds = ('undo read', 'sweep read', 'read', 'write', 'extend', 'truncate', 'memory', 'cancel', 'terminate');
my ($ok, $out) = python('faults', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed,
	'--directory', PostgreSQL::Test::Utils::tempdir_short(), '--rounds', 2, '--seconds', 3, '--clients', 3, '--rows', 1000,
	map { ('--only', $_) } @kinds);

ok($ok, 'nothing is lost, nothing is wrong, nothing comes back') or diag($out);
like($out, qr/^2 rounds, 0 findings, 0 lost commits$/m, 'all rounds were run');
like($out, qr/^hits: .*[1-9]\d* undo read/m, 'reads of undo failed');
done_testing();
