# Pages of the undo relation whose LSN is damaged: WAL has not come so far.  They are not changed, so that replay after a crash has no record to skip.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('lsn', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'checkpoint_timeout = 1h' ], checksums => 0);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub raise_lsn
{
	my ($file, $block, $by) = @_;
	my ($high, $low) = unpack 'VV', read_bytes($file, 8192 * $block, 8);

	write_bytes($file, 8192 * $block, pack('VV', $high, $low + $by));
	return;
}

ask("create table a (id int primary key, n int, v text) using zheap; insert into a select g, 0, repeat('a', 200) from generate_series(1, 100) g");
ask('update a set n = 1 where id = 1');
my $block = ask("select split_part(undo, '/', 1) from zheap.zheap_page_slots('a', 0) where undo is not null order by split_part(undo, '/', 1)::int desc, split_part(undo, '/', 2)::int desc limit 1");
my $file = $node->data_dir . '/' . ask("select pg_relation_filepath('zheap.undo')");
ask('checkpoint');

# ---- 1. the page where a log goes on ----

$node->stop;
# what a restart and a few page images write is less than that
raise_lsn($file, $block, 49152);
$node->start;
my $refused = 0;
my $changed = 0;
# WAL gets beyond that LSN: about 110 kB
foreach my $n (2 .. 11)
{
	my ($rc, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\ndo \$\$ begin for i in 1 .. 100 loop update a set n = $n where id = i; commit; end loop; end \$\$");

	$changed = $n if $rc == 0;
	$refused++ if $rc != 0;
	like($err, qr/XX001: .*undo page of generation \d+ ends at/s, "what is said, $n") if $rc != 0;
}
is($refused, 1, 'the page is not written to, and after that another log is used');
is($changed, 11, 'which works');
my $rows = ask('select count(*), min(n), max(n) from a');
is($rows, '100|11|11', 'the rows are changed');
$node->stop('immediate');
$node->start;
is(ask('select count(*), min(n), max(n) from a'), $rows, 'and are so after a crash');

# ---- 2. the meta page: no extent is opened, what is there is read ----

ask('checkpoint');
$node->stop;
raise_lsn($file, 0, 1 << 30);
$node->start;
my ($rc, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\ninsert into a select g, 0, repeat('b', 200) from generate_series(1000, 3000) g; update a set v = repeat('c', 200); update a set v = repeat('d', 200); update a set v = repeat('e', 200)");
isnt($rc, 0, 'no extent is opened');
like($err, qr/XX001: .*the page's LSN .* is beyond the end of WAL/s, 'and why');
is(ask('select count(*), min(n), max(n) from a where id <= 100'), $rows, 'rows are read');
$node->stop('immediate');
$node->start;
is(ask('select count(*), min(n), max(n) from a where id <= 100'), $rows, 'also after a crash');
$node->stop('immediate');
no_crash_in_log($node, 'to the end');
done_testing();
