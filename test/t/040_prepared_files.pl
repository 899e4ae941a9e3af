# What a savepoint has rolled back in a new file stays rolled back, when a prepared transaction commits the file beside VACUUM of the undo relation.
# CREATE TABLE, TRUNCATE and a rewrite in the prepared transaction; ZHEAP_PREPARED_ROUNDS for long runs.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rounds = $ENV{ZHEAP_PREPARED_ROUNDS} // (short() ? 400 : 1200);
my $batch = 100;
my $node = new_server('prepared', [
	'autovacuum = off', 'zheap.undo_workers = 0', 'max_prepared_transactions = 10',
	'synchronous_commit = off', 'shared_buffers = 64MB' ]);

# a table that is made anew, one that is truncated, one that is rewritten
my %file = (
	created => 'create table %s (id int) using zheap',
	truncated => 'truncate %s',
	rewritten => 'alter table %s alter id type bigint');
my @kinds = sort keys %file;

sub table_of
{
	my ($n) = @_;
	my $kind = $kinds[ $n % @kinds ];

	return ($kind, "t_$n");
}

sub round_of
{
	my ($n) = @_;
	my ($kind, $table) = table_of($n);
	my $file = sprintf($file{$kind}, $table);
	my $before = $kind eq 'created' ? '' : "create table $table (id int) using zheap;\n";

	return <<"SQL";
${before}begin; $file; savepoint s; insert into $table select 666 from generate_series(1, 3); rollback to s;
prepare transaction 'g'; commit prepared 'g';
SQL
}

# VACUUM goes on in another session until the rounds are over
my $script = "$PostgreSQL::Test::Utils::tmp_check/vacuum.sql";
append_to_file($script, "vacuum zheap.undo;\n");
my $vacuum = pgbench_start($node, '-f', $script, '-t', 100_000_000);

for (my $first = 0; $first < $rounds; $first += $batch)
{
	$node->safe_psql('postgres',
		join('', map { round_of($_) } $first .. $first + $batch - 1));
}
my $vacuums = $node->safe_psql('postgres',
	"select pg_terminate_backend(pid) from pg_stat_activity where query like 'vacuum zheap.undo%'");
is($vacuums, 't', 'VACUUM of the undo relation went on all the time');
pgbench_finish($vacuum);

# the horizon passes everything
$node->safe_psql('postgres', 'select pg_current_xact_id(); vacuum zheap.undo; select pg_current_xact_id(); vacuum zheap.undo');
my %bad;
for (my $first = 0; $first < $rounds; $first += $batch)
{
	my $list = $node->safe_psql('postgres', join("\nunion all\n", map {
		my ($kind, $table) = table_of($_);
		"select '$kind' where exists (select from $table)" } $first .. $first + $batch - 1));
	$bad{$_}++ foreach split /\n/, $list;
}
is($bad{$_} // 0, 0, "no rolled back rows in tables $_") foreach @kinds;

done_testing();
