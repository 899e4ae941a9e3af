# Recovery with checksums on and torn pages: halves of table and undo pages are overwritten after the crash.
# Each of those pages had its image logged since the checkpoint; prepared transactions are in doubt, others were cut off.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

use constant BLCKSZ => 8192;

seed();
my $node = new_server('torn', [ 'full_page_writes = on', 'shared_buffers = 16MB', 'autovacuum = off',
		'checkpoint_timeout = 1h', 'max_wal_size = 2GB', 'max_prepared_transactions = 10' ],
	extra => ['--data-checksums']);
$node->safe_psql('postgres', <<'SQL');
create extension pg_walinspect;
create table t (id int primary key, n int, v text) using zheap;
create index t_n on t (n);
create table slots (id int primary key, v text) using zheap;
insert into t select g, g, repeat('v', g % 50) from generate_series(1, 20000) g;
insert into slots select g, 'v' from generate_series(1, 100) g;
SQL

# Blocks of a file whose image is in WAL since the last checkpoint.
sub imaged_blocks
{
	my ($relation, $from) = @_;
	my $file = $node->safe_psql('postgres', "select pg_relation_filenode('$relation')");
	my $refs = $node->safe_psql('postgres', <<SQL);
select block_ref from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn())
 where block_ref like '%/$file %FPW%' or block_ref like '%/$file %INIT%' or block_ref like '%/$file %'
SQL
	my %blocks;

	foreach my $line (split /\n/, $refs)
	{
		$blocks{$1} = 1 while $line =~ m{rel \d+/\d+/$file fork main blk (\d+)[^b]*?\(FPW\)}g;
	}
	return sort { $a <=> $b } keys %blocks;
}

# Overwrite one half, by what was there before (a write that stopped in the middle) or by junk.
sub tear
{
	my ($path, $block, $older) = @_;
	my $offset = $block * BLCKSZ + (rand() < 0.5 ? 0 : BLCKSZ / 2);

	return if $offset >= -s $path;
	my $half = join('', map { chr(int(rand 256)) } 1 .. 64) x (BLCKSZ / 2 / 64);
	if ($older && -s $older > $offset)
	{
		$half = read_bytes($older, $offset, BLCKSZ / 2);
	}
	write_bytes($path, $offset, $half);
	return;
}

my $data = $node->data_dir;
my $digest = "select count(*), coalesce(sum(n), 0), md5(string_agg(t::text, '' order by id)) from t";
for my $round (1 .. (short() ? 3 : 8))
{
	my @files = map { "$data/" . $node->safe_psql('postgres', "select pg_relation_filepath('$_')") } qw(t slots zheap.undo t_pkey);
	my $prepared = "p$round";

	# written in part before the checkpoint
	my $open = $node->background_psql('postgres');
	$open->query_safe('begin');
	$open->query_safe("update t set v = 'gone ' || v where id between 1 and 500");
	$node->safe_psql('postgres', "begin; update t set v = 'prepared $round ' || v, n = -n where id between 1001 and 1200; delete from slots where id = $round; prepare transaction '$prepared'");
	$node->safe_psql('postgres', 'checkpoint');
	my $from = $node->lsn('insert');
	my @older = map { my $copy = "$_.older"; PostgreSQL::Test::Utils::system_or_bail('cp', $_, $copy); $copy } @files;

	# and goes on after it
	$open->query_safe("update t set v = 'gone ' || v where id between 400 and 1000; delete from t where id between 601 and 700");
	my @others;
	foreach my $i (1 .. 12)
	{
		my $session = $node->background_psql('postgres');

		# more transactions on a page than it has slots
		$session->query_safe("begin; update slots set v = 'gone' where id = 40 + $i; insert into slots values (1000 + 100 * $round + $i, 'gone')");
		push @others, $session;
	}
	$node->safe_psql('postgres', "update t set n = n + 1 where id % 50 = 0 and id > 2000; begin; update t set v = 'gone' where id > 15000; rollback");
	$node->safe_psql('postgres', "insert into t select g, g, 'new' from generate_series(20000 + $round * 1000, 20000 + $round * 1000 + 500) g; delete from t where id = $round + 5000; update slots set v = v || '$round' where id > 90");
	my $expected = $node->safe_psql('postgres', $digest);
	my $slots = table_digest($node, 'slots');
	my $undo_blocks = join(' ', imaged_blocks('zheap.undo', $from));
	my @blocks = ([ imaged_blocks('t', $from) ], [ imaged_blocks('slots', $from) ], [ imaged_blocks('zheap.undo', $from) ], [ imaged_blocks('t_pkey', $from) ]);
	cmp_ok(scalar(@{ $blocks[0] }), '>', 5, "round $round: table pages have images (" . @{ $blocks[0] } . ')');
	cmp_ok(scalar(@{ $blocks[2] }), '>', 0, "round $round: undo pages have images ($undo_blocks)");

	crash($node);
	eval { $_->quit } foreach ($open, @others);
	for my $i (0 .. $#files)
	{
		tear($files[$i], $_, rand() < 0.5 ? $older[$i] : undef) foreach @{ $blocks[$i] };
		unlink $older[$i];
	}
	start_again($node);
	is($node->safe_psql('postgres', $digest), $expected, "round $round: all rows");
	is(table_digest($node, 'slots'), $slots, "round $round: all rows of the page with many slots");
	is($node->safe_psql('postgres', "set lock_timeout = '60s'; select count(*) from (select from t where id between 1001 and 1210 for update skip locked) x"),
		'10', "round $round: rows in doubt are locked");
	$node->safe_psql('postgres', ($round % 2 ? 'commit' : 'rollback') . " prepared '$prepared'");
	is($node->safe_psql('postgres', "select count(*) from t where v like 'prepared $round %'"), $round % 2 ? 200 : 0, "round $round: the end of the prepared transaction");
	wait_undone($node, "round $round: all is rolled back");
	is($node->safe_psql('postgres', "select count(*) from t where v like '%gone%'"), '0', "round $round: nothing aborted is left");
	is($node->safe_psql('postgres', "select count(*) from slots where v like '%gone%'"), '0', "round $round: nor there");
	btrees_agree($node, "round $round", qw(t_pkey t_n slots_pkey));
	$node->safe_psql('postgres', 'vacuum t') if $round % 2;
}
$node->stop;
$node->command_ok([ 'pg_checksums', '--check', '-D', $data ], 'checksums of all pages');
no_crash_in_log($node, 'to the end');
done_testing();
