# File numbers come round: undo of a table that was dropped names by now a heap table, or an index.
# The sweep leaves those alone, and comes to its end.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('reused', [ 'autovacuum = off', 'zheap.undo_workers = 0' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/ts" or die $!;
$node->safe_psql('postgres', "create tablespace ts location '$dir/ts'");

foreach my $kind ('table', 'index')
{
	$node->safe_psql('postgres', 'create table gone (id int) using zheap tablespace ts; create table other (id int)');
	my $number = $node->safe_psql('postgres', "select pg_relation_filenode('gone')");
	$node->safe_psql('postgres', 'begin; insert into gone select generate_series(1, 1000); rollback');
	$node->safe_psql('postgres', 'drop table gone');
	$node->safe_psql('postgres', 'vacuum pg_class');
	$node->stop;
	command_ok([ 'pg_resetwal', '-o', $number, '-D', $node->data_dir ], "$kind: the next OID is an old one");
	$node->start;
	$node->safe_psql('postgres', $kind eq 'table' ? 'create table again as select generate_series(1, 1000)' : 'create index again on other (id)');
	is($node->safe_psql('postgres', "select pg_relation_filenode('again')"), $number, "$kind: the file has that number");
	$node->safe_psql('postgres', $kind eq 'table' ? 'drop table other; create table other (id int)' : 'insert into other select generate_series(1, 1000)');
	my ($rc, $out, $err) = $node->psql('postgres', 'vacuum zheap.undo');
	is($err, '', "$kind: vacuum");
	is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', "$kind: settled");
	$node->safe_psql('postgres', "drop $kind again; drop table other");
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
