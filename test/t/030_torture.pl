# Clients do everything at once, the server is killed at any moment, then every row is compared with what was acknowledged.
# The seed is fixed (ZHEAP_TEST_SEED: another); test/torture is the long run.
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
	return python('torture', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed, @_);
}

my ($ok, $out) = torture('--directory', $directory, '--rounds', short() ? 2 : 3,
	'--seconds', 2, '--commits', 30, '--clients', 4, '--rows', 5000);

ok($ok, 'nothing is lost, nothing is wrong') or diag($out);
like($out, qr/^[23] rounds, 0 findings, 0 lost commits$/m, 'all rounds were run');
like($out, qr/^[1-9]\d+ commits were acknowledged$/m, 'there was something to lose');

# what is lost, and what is wrong, is found
($ok, $out) = torture('--directory', "$directory/2", '--rounds', 1, '--seconds', 1, '--commits', 30, '--clients', 2,
	'--rows', 100, '--damage');
is($ok, 0, 'damage fails');
like($out, qr/FINDING .*acknowledged and lost/, 'a lost commit is found');
like($out, qr/FINDING .*: own: /, 'a changed row is found');
like($out, qr/FINDING .*: index .* and a scan: /, 'an index that lacks a row is found');
like($out, qr/^1 rounds, [1-9]\d* findings, 1 lost commits$/m, 'and they are counted');
done_testing();
