# Damaged names of overflow pages and lock pages lead to no other page; then random flips of table and undo pages, after which all other pages are as they were.
# The seed is fixed (ZHEAP_TEST_SEED: another); test/flips is the long run.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

# ---- 1. names of other pages ----

my $node = new_server('named', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'max_prepared_transactions = 50' ], checksums => 0);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

ask(<<'SQL');
create table o (id int, n int, v text) using zheap with (fillfactor = 60);
insert into o select g, 0, repeat('o', 100) from generate_series(1, 250) g;
SQL
ask("begin; select id from o where ctid in ('(0,37)', '(4,37)') for key share; prepare transaction 'k'");
foreach my $i (1 .. 36)
{
	ask("begin; update o set n = $i where ctid in (" . join(', ', map { "'($_,$i)'" } 0 .. 5) . "); prepare transaction 'o$i'");
}
ask("create table p (n int) using zheap; insert into p values (1)");
ask("begin; update p set n = 2; prepare transaction 'p'");
my $slot = ask("select slot from zheap.zheap_page_slots('p', 0) where status = 'in progress'");
my $undo_at = 8192 - 16 - 16 * $slot + 8 + 7;
my @overflow = map { ask("select overflow_block from zheap.zheap_page_header('o', $_)") } 0 .. 5;
is(scalar(grep { /^\d+$/ } @overflow), 6, 'each page has an overflow page');
is(ask("select count(*) from o where ctid in (" . join(', ', map { "'($_,37)'" } 0 .. 5) . ")"), '6', 'and a row that nobody has changed');
# rows that go back when somebody changes the page
ask("create table r (id int, n int, v text) using zheap; insert into r select g, 0, repeat('r', 100) from generate_series(1, 40) g");
ask("begin; update r set n = 1 where id < 5; rollback");
my %file = map { $_ => $node->data_dir . '/' . ask("select pg_relation_filepath('$_')") } 'o', 'p', 'r';

sub state_of
{
	my ($block) = @_;

	return ask("select string_agg(s::text, ' ' order by slot) from zheap.zheap_page_slots('o', $block) s") .
	  ask("select string_agg(o::text, ' ' order by id) from o where ctid >= '($block,0)' and ctid < '(" . ($block + 1) . ",0)'");
}

my %before = map { $_ => state_of($_) } 2, 5;

$node->stop;
foreach my $change (
	# the table page itself as a lock page; another's overflow page; the table page itself; the overflow page as a lock page
	[ 'o', $overflow[0], 28, pack('V', 1) ], [ 'o', $overflow[0], 7712, pack('V', 0) ],
	[ 'o', 1, 8184, pack('V', $overflow[2]) ],
	[ 'o', 3, 8184, pack('V', 3) ],
	[ 'o', $overflow[4], 28, pack('V', 1) ], [ 'o', $overflow[4], 7712, pack('V', $overflow[4]) ],
	# undo of a temporary table
	[ 'p', 0, $undo_at, "\x80" ],
	# a line pointer to what is far behind the page, with flags and length as they were
	[ 'r', 0, 24 + 4 * 9, "\xF0\xFF" ])
{
	my ($table, $block, $offset, $bytes) = @$change;

	write_bytes($file{$table}, 8192 * $block + $offset, $bytes);
}
$node->start;

foreach my $case (
	[ 0, qr/page is no overflow page/ ], [ 1, qr/overflow page $overflow[2] belongs to block 2/ ],
	[ 3, qr/page is no overflow page/ ], [ 4, qr/overflow page $overflow[4] is named as a lock page/ ])
{
	my ($block, $told) = @$case;

	foreach my $sql ("delete from o where ctid = '($block,37)'", "select id from o where ctid = '($block,37)' for update")
	{
		my $timed_out;
		my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql",
			timeout => $PostgreSQL::Test::Utils::timeout_default, timed_out => \$timed_out);

		ok(!$timed_out, "$sql: comes to an end");
		like($err, $told, 'and tells what is wrong');
		like($err, qr/ERROR:  XX001/, 'as damage');
	}
}
my ($rc, $out, $err) = $node->psql('postgres', <<'SQL');
\set VERBOSITY verbose
begin;
create temporary table x (n int) using zheap;
insert into x values (1);
update x set n = 2;
select * from p;
SQL
like($err, qr/ERROR:  XX001: .*undo pointer to a block that does not exist/, 'undo of a temporary table is not that of another');
($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nupdate r set n = 2 where id = 20");
like($err, qr/ERROR:  XX001/, 'a page with a damaged line pointer is not rolled back');
is(state_of($_), $before{$_}, "page $_ is as it was") foreach 2, 5;
is(ask("update o set n = -1 where ctid = '(2,37)' returning n"), '-1', 'and can be changed');
my $asserts = ask('show debug_assertions') eq 'on';
$node->stop('immediate');
no_crash_in_log($node, 'to the end');

# ---- 2. random flips ----

if ($asserts)
{
	note('a server with assertions looks at the whole page after each change, and stops at damage');
	done_testing();
	exit 0;
}

my $seed = $ENV{ZHEAP_TEST_SEED} // 1;
my $directory = PostgreSQL::Test::Utils::tempdir_short();

chomp(my $bindir = `pg_config --bindir`);

sub flips
{
	return python('flips', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--seed', $seed, '--directory', @_);
}

my $count = short() ? 150 : 400;
(my $ok, $out) = flips($directory, '--flips', $count, '--cells', 45, '--undo', 100, '--crashes', 1);
ok($ok, 'nothing is wrong') or diag($out);
like($out, qr/^$count flips, \d+ statements, 0 findings$/m, 'all bytes were changed');
like($out, qr/^\Q$_\E: told: [1-9]/m, "damage is told: $_") foreach 'page header', 'slot', 'tables while undo is damaged';
diag($1) if $out =~ /^(\d+ flips.*)/m;

# a page that is not as it was is found
($ok, $out) = flips("$directory/2", '--flips', 8, '--cells', 9, '--max', 1, '--spoil');
is($ok, 0, 'a row of another page that was changed fails');
like($out, qr/FINDING .*row \d+ is there 0 times as it was/, 'and is told of') or diag($out);
done_testing();
