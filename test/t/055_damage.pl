# Single bytes of the undo relation are changed at random: what can be read is right, the rest is a clear error, an operator gets by.
# The seed is fixed (ZHEAP_TEST_SEED: another); test/damage is the long run.
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

sub changes
{
	return python('damage', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed, '--directory', @_);
}

my ($ok, $out) = changes($directory, '--changes', short() ? 24 : 48, '--databases', 12);
ok($ok, 'nothing is wrong') or diag($out);
like($out, qr/^(24|48) changes, 0 findings$/m, 'all changes were made');
like($out, qr/^$_: /m, "$_ pages were among what was damaged") foreach qw(meta directory map first data);

# a row that is not as it was is found
($ok, $out) = changes("$directory/2", '--changes', 8, '--databases', 4, '--max', 1, '--spoil');
is($ok, 0, 'a wrong row fails');
like($out, qr/FINDING .*table c has/, 'and is told of');
done_testing();
