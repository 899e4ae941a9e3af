# VACUUM does not follow damaged links of a B-tree's leaves for ever, or to where no page is: it says so.
# The links are changed in the files of a stopped server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('links', [ 'autovacuum = off', 'zheap.undo_workers = 0' ], checksums => 0);
my @tables = qw(circle beyond);
my %file;

foreach my $table (@tables)
{
	# rows with several keys in k, so that VACUUM looks through all leaves
	$node->safe_psql('postgres', <<"SQL");
create table $table (id int primary key, k int) using zheap;
create index ${table}_k on $table (k);
insert into $table select g, g from generate_series(1, 2000) g;
update $table set k = k + 10000 where id % 10 = 0;
SQL
	$file{$table} = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('${table}_k')");
}
$node->safe_psql('postgres', 'checkpoint');
$node->stop;

# the second page of the leaves leads to the first, and to what asks the server for a new page
my ($first, $second) = grep { unpack('v', read_bytes($file{circle}, 8192 * ($_ + 1) - 4, 2)) & 1 } 1 .. (-s $file{circle}) / 8192 - 1;
write_bytes($file{circle}, 8192 * ($second + 1) - 12, pack('V', $first));
write_bytes($file{beyond}, 8192 * ($second + 1) - 12, pack('V', 0xFFFFFFFF));
my $size = -s $file{beyond};

$node->start;
my %says = (
	circle => qr/ERROR:  the leaf pages of index "circle_k" form a circle\nHINT:  Rebuild it with REINDEX/,
	beyond => qr/ERROR:  index "beyond_k" has a link to block 4294967295, which does not exist\nHINT:  Rebuild it with REINDEX/);
foreach my $table (@tables)
{
	my (undef, undef, $err) = $node->psql('postgres', "set statement_timeout = '20s'; vacuum $table");

	like($err, $says{$table}, "$table: VACUUM says what is wrong");
	$node->safe_psql('postgres', "set statement_timeout = '60s'; reindex index ${table}_k");
	is($node->safe_psql('postgres', "vacuum $table; set enable_seqscan = off; select count(*) from $table where k >= 10000"), '200', 'behind REINDEX it works');
}
$node->stop('immediate');
no_crash_in_log($node, 'to the end');
done_testing();
