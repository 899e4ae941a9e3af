# Tables dropped, truncated, rewritten in prepared transactions and plain ones beside VACUUM of the undo relation and workers: they contain what their heap twins do.
# The seed is fixed (ZHEAP_TEST_SEED: another); test/races is the long run.
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

sub races
{
	return python('races', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed, @_);
}

# several clients; one beside nothing but VACUUM of the undo relation; a crash
my $transactions = short() ? 300 : 600;
my ($ok, $out) = races('--directory', $directory, '--transactions', $transactions, '--round', $transactions / 3, '--crashes');

ok($ok, 'nothing is wrong') or diag($out);
like($out, qr/^$transactions transactions, 0 findings, 0 tables with wrong rows$/m, 'all transactions were run');
like($out, qr/, one client$/m, 'some by one client');
like($out, qr/, crash$/m, 'and some before a crash');
like($out, qr/\b$_:[1-9]/, "$_ was done") foreach 'commit prepared', 'rollback prepared', 'truncate_in_part', 'drop', 'cluster', 'rewrite', 'tablespace', 'vacuum_undo';

# what is wrong is found
($ok, $out) = races('--directory', "$directory/2", '--transactions', 50, '--round', 50, '--damage');
is($ok, 0, 'damage fails');
like($out, qr/FINDING in round 1: after the round: races_0_0: too many .*damage.*, missing \[\]$/m, 'a wrong row is found');
like($out, qr/^50 transactions, 2 findings, 2 tables with wrong rows$/m, 'and counted');
done_testing();
