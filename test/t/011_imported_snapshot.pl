# A snapshot that was exported by another session: ordinary tables are read as of then; a temporary table that has
# changed since is refused, never shown as it is now.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('import');

$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int) using zheap;
insert into t select g, 0 from generate_series(1, 100) g;
SQL

my $exporter = $node->background_psql('postgres');
my $importer = $node->background_psql('postgres', on_error_stop => 0);

sub export
{
	$exporter->query_safe('begin isolation level repeatable read');
	return $exporter->query_safe('select pg_export_snapshot()');
}

sub import
{
	my ($snapshot) = @_;

	$importer->query_safe('begin isolation level repeatable read');
	$importer->query_safe("set transaction snapshot '$snapshot'");
	return;
}

$importer->query_safe('create temp table tmp (id int primary key, n int) using zheap');
$importer->query_safe('insert into tmp select g, 0 from generate_series(1, 10) g');

# all that the session did before is visible to the snapshot
my $snapshot = export();
import($snapshot);
is($importer->query_safe('select count(*), sum(n) from tmp'), '10|0', 'a temporary table that has not changed since');
$importer->query_safe('update tmp set n = n + 1');
is($importer->query_safe('select count(*), sum(n) from tmp'), '10|10', 'with the own changes');
$importer->query_safe('rollback');
$importer->query_safe('select 1 from tmp');
import($snapshot);
is($importer->query_safe('select count(*), sum(n) from tmp'), '10|0', 'what was rolled back since does not matter');
$importer->query_safe('commit');

# rows that the session has committed since
$importer->query_safe('update t set n = 1');
$importer->query_safe('insert into tmp values (11, 0)');
import($snapshot);
is($importer->query_safe('select count(*), sum(n) from t'), '100|0', 'ordinary tables are as of then');
foreach my $query ('select * from tmp', 'set enable_seqscan = off; select * from tmp where id = 11',
	q{select * from tmp where ctid = '(0,11)'}, 'delete from tmp', 'select count(*) from tmp tablesample bernoulli (100)')
{
	$importer->query_safe('savepoint s');
	my $result = $importer->query($query);
	is($result, '', "nothing from: $query");
	like($importer->{stderr}, qr/cannot read temporary table "tmp" with an imported snapshot/, 'but an error');
	$importer->{stderr} = '';
	$importer->query_safe('rollback to s; reset enable_seqscan');
}
$importer->query_safe('rollback');
$exporter->query_safe('commit');

# a new snapshot will do
$snapshot = export();
import($snapshot);
is($importer->query_safe('select count(*), sum(n) from tmp'), '11|0', 'with a newer one');
$importer->query_safe('commit');
$exporter->query_safe('commit');
$_->quit foreach ($exporter, $importer);

$node->stop;
done_testing();
