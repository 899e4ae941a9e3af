# A subscriber gets to contain what its publisher does, under random load, with columns that come and go, and after crashes of both.
# The seed is fixed (ZHEAP_TEST_SEED: another); test/replication is the long run.
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

sub replication
{
	return python('replication', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed, '--directory', @_);
}

my ($ok, $out) = replication($directory, '--rounds', 2, '--round-seconds', 3, '--commits', short() ? 30 : 80, '--clients', 4);

ok($ok, 'both sides contain the same') or diag($out);
like($out, qr/^2 rounds, [1-9]\d+ commits, 42 tables compared, 0 findings$/m, 'all rounds were run');
# publishers of 18 have a limit that few transactions reach (test/lib/replication/replication.py says why)
my $large = pg_major() == 18 ? '' : '(?=.*\b(?:streamed|spilled) [1-9])';
like($out, qr/^(?=.*\bprepared [1-9])(?=.*\brolled back [1-9])$large.*$/m, 'with all kinds of transactions');
diag(($out =~ /([^\n]*)\n[^\n]*\n\z/)[0]);

# what differs is found
($ok, $out) = replication("$directory/2", '--rounds', 1, '--round-seconds', 1, '--clients', 2, '--damage');
is($ok, 0, 'a changed row fails');
like($out, qr/FINDING .*: primary_zheap_zheap differs, .*publisher None, subscriber \('\(/, 'it is found');
like($out, qr/^1 rounds, \d+ commits, 21 tables compared, 1 findings$/m, 'and nothing else');
done_testing();
