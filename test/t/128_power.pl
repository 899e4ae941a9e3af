# The power fails under load: what no fsync made durable is undone in part, then every row is compared with what was acknowledged.
# The seed is fixed (ZHEAP_TEST_SEED: another); test/torture --power is the long run.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seed = $ENV{ZHEAP_TEST_SEED} // 1;
my $directory = PostgreSQL::Test::Utils::tempdir_short();

chomp(my $bindir = `pg_config --bindir`);

sub torture
{
	return python('torture', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed, '--seconds', 1,
		'--clients', 3, '--rows', 2000, '--power', @_);
}

my ($ok, $out) = torture('--directory', $directory, '--rounds', 2, '--commits', 60, '--ddl');

ok($ok, 'nothing is lost, nothing is wrong') or diag($out);
like($out, qr/^2 rounds, 0 findings, 0 lost commits$/m, 'all rounds were run');
like($out, qr/^power: .*[1-9]\d* failures.* [1-9]\d* undone/m, 'sectors were undone');

# a disk that only says that it has synced WAL loses commits or spoils pages; that is found
($ok, $out) = torture('--directory', "$directory/2", '--rounds', 1, '--commits', 30, '--damage');
is($ok, 0, 'a disk that lies fails');
like($out, qr/^FINDING in round 1: .*(?:acknowledged and lost|did not start|invalid page|expected|\bXX\d\d\d\b|\b58P01\b)/m, 'what is lost is found');
done_testing();
