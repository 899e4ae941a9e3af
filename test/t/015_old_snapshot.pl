# The regression suite once more beside an old snapshot, which keeps every version and every slot's history alive.
# Then with one transaction slot per page at first, so that slots are taken over and added all the time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $top = dirname(dirname($FindBin::RealBin));

# these wait for the old snapshot, or tell how much space VACUUM gave back, or
# take long without need of it
my %left_out = map { $_ => 1 } qw(concurrently reuse bulk bigrows cluster marked_entries recheck_in_place evaluated_vacuum
  key_functions);
# since 17 the server stamps what REFRESH fills, and the old snapshot keeps VACUUM from moving that on
$left_out{extension} = 1 if pg_major() >= 17;
$left_out{$_} = 1 foreach (short() ? qw(index_am bitmap abort parallel) : ());
my @tests = grep { !$left_out{$_} }
  map { basename($_, '.sql') } sort glob "$top/test/sql/*.sql";

my $node = new_server('old', [ 'shared_buffers = 128MB', 'max_prepared_transactions = 10', 'max_wal_size = 2GB' ]);

sub run_tests
{
	my ($what, $database, @options) = @_;
	my $results = PostgreSQL::Test::Utils::tempdir();

	symlink("$top/expected", "$results/expected");
	my $rc = system($ENV{PG_REGRESS}, "--inputdir=$top/test", "--outputdir=$results", '--bindir=',
		'--use-existing', "--dbname=$database", '--host=' . $node->host, '--port=' . $node->port, @tests);
	is($rc, 0, $what);
	diag(substr(slurp_file("$results/regression.diffs"), 0, 10000))
	  if $rc && -e "$results/regression.diffs";
	return;
}

sub new_database
{
	my ($database) = @_;

	$node->safe_psql('postgres', "create database $database");
	# as pg_regress does for databases that it makes
	$node->safe_psql('postgres', "alter database $database set $_") foreach (
		"lc_messages = 'C'", "lc_monetary = 'C'", "lc_numeric = 'C'", "lc_time = 'C'",
		"bytea_output = 'hex'", "timezone_abbreviations = 'Default'");
	$node->safe_psql($database, 'create extension zheap');
	return;
}

foreach my $slots (4, 1)
{
	$node->append_conf('postgresql.conf', "zheap.initial_slots = $slots\n");
	$node->reload;
	new_database("old_$slots");
	my $old = $node->background_psql("old_$slots");
	$old->query_safe('begin isolation level repeatable read');
	$old->query_safe('select count(*) from pg_class');
	run_tests("beside an old snapshot, $slots slots at first", "old_$slots");
	$old->query_safe('commit');
	$old->quit;
}
if (!short())
{
	new_database('no_old');
	run_tests('without it, one slot at first', 'no_old');
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
