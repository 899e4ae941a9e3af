# ROLLBACK of a large update takes no time, the rows are right at once, and a worker puts them back soon after.
# The same with a crash in the middle of it, with writers that come first, and with the worker asleep.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use ZheapTest;

my $rows = short() ? 100_000 : 1_000_000;
my $node = new_server('abort', [ 'shared_buffers = 256MB', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h', 'autovacuum = off' ]);
$node->safe_psql('postgres', <<"SQL");
create table big (id int primary key, n int, v text) using zheap;
insert into big select g, g, 'v' || g from generate_series(1, $rows) g;
SQL
my $totals = 'select count(*), sum(id::bigint), sum(n::bigint), count(distinct left(v, 1)), min(left(v, 1)) from big';
my $right = $node->safe_psql('postgres', $totals);

sub reads_right
{
	my ($what) = @_;
	my $start = time();

	is($node->safe_psql('postgres', $totals), $right, sprintf('%s: a scan reads the old rows', $what));
	diag(sprintf('%s: scan %.0f ms', $what, (time() - $start) * 1000));
	is($node->safe_psql('postgres',
			"set enable_seqscan = off; set enable_bitmapscan = off; select count(v), sum(id::bigint), sum(n::bigint) from big where id between 1 and $rows"),
		join('|', (split /\|/, $right)[ 0 .. 2 ]), "$what: so does the index");
	is($node->safe_psql('postgres', "select n, v from big where id = $rows / 2"),
		$rows / 2 . '|v' . $rows / 2, "$what: so does a look at one row");
	return;
}

# The update and its rollback in one session.  To put so many rows back takes some seconds of processor time.
sub roll_back
{
	my ($what, @statements) = @_;
	my $session = session($node);

	$session->query_safe('begin');
	$session->query_safe($_) foreach @statements;
	my $cost = cost_of($session, 'rollback', 1000);
	$session->quit;
	ok(defined $cost && $cost < 10, "$what: the session does not put rows back") or diag('1/100 s of processor time: ' . ($cost // 'very many'));
	return;
}

roll_back('update', "update big set n = -n, v = 'undone'");
reads_right('update');
my $wait = wait_undone($node, 'update: rolled back by the worker');
diag(sprintf('rolled back after %.1f s', $wait));
reads_right('update, rolled back');

roll_back('delete and insert', 'delete from big where id % 2 = 0',
	"insert into big select g, g, 'undone' from generate_series($rows + 1, $rows * 2) g");
reads_right('delete and insert');
wait_undone($node, 'delete and insert: rolled back by the worker');
reads_right('delete and insert, rolled back');

# the space is of use again: the same once more makes the table no larger
my $size = $node->safe_psql('postgres', "vacuum big; select pg_relation_size('big')");
roll_back('update again', "update big set n = -n, v = 'undone'");
wait_undone($node, 'update again: rolled back');
cmp_ok($node->safe_psql('postgres', "select pg_relation_size('big')"), '<=', $size, 'in-place updates that were rolled back need no space');

# writers come before the worker, who sleeps
$node->append_conf('postgresql.conf', "zheap.undo_worker_naptime = 10min\n");
$node->restart;
roll_back('worker asleep', "update big set n = 0, v = repeat('undone', 3)");
$node->safe_psql('postgres', "update big set n = n + 1, v = 'w' || id where id % 10 = 0");
is($node->safe_psql('postgres', "select count(*), count(*) filter (where n = id + 1 and v = 'w' || id), count(*) filter (where n = id and v = 'v' || id) from big"),
	join('|', $rows, $rows / 10, $rows - $rows / 10), 'writers built on the old rows');
$node->safe_psql('postgres', "update big set n = id, v = 'v' || id where id % 10 = 0");
reads_right('after the writers');
# VACUUM makes the progress that the worker does not
$node->safe_psql('postgres', 'vacuum big');
reads_right('after vacuum, without the worker');
$node->append_conf('postgresql.conf', "zheap.undo_worker_naptime = 100ms\n");
$node->reload;
wait_undone($node, 'the worker is back');
reads_right('the worker is back');

# a crash in the middle of the update, and one in the middle of putting it back
foreach my $moment ('update', 'rolled back', 'being rolled back')
{
	my $session = $node->background_psql('postgres');
	$session->query_safe('begin');
	$session->query_until(qr/started/, "\\echo started\nupdate big set n = n + 1, v = 'crash';\n");
	if ($moment eq 'update')
	{
		usleep(short() ? 150_000 : 1_500_000);
	}
	else
	{
		$session->query_until(qr/updated/, "\\echo updated\n");
		$session->query_safe('rollback');
		usleep(500_000) if $moment eq 'being rolled back';
	}
	crash($node);
	eval { $session->quit };
	start_again($node);
	my $start = time();
	is($node->safe_psql('postgres', 'select n, v from big where id = 1'), '1|v1', "crash, $moment: first row");
	diag(sprintf('crash, %s: first answer %.0f ms after the start', $moment, (time() - $start) * 1000));
	reads_right("crash, $moment");
	$node->safe_psql('postgres', "update big set v = 'z' where id = 7; update big set v = 'v7' where id = 7");
	wait_undone($node, "crash, $moment: rolled back");
	reads_right("crash, $moment, rolled back");
}

# a subtransaction, its transaction commits
$node->safe_psql('postgres', <<'SQL');
begin;
savepoint s;
update big set n = 0, v = '';
rollback to s;
update big set n = n + 1 where id <= 100;
commit;
SQL
is($node->safe_psql('postgres', 'select count(*) filter (where n = id + 1), count(*) filter (where n = id) from big'),
	'100|' . ($rows - 100), 'a large subtransaction is undone, its parent stays');
$node->safe_psql('postgres', 'update big set n = id where id <= 100');

# A scan of pages that nobody has rolled back reads the undo of each page about once, whatever the number of rows.
$node->append_conf('postgresql.conf', "zheap.undo_workers = 0\n");
$node->restart;

sub scan_buffers
{
	my $plan = $node->safe_psql('postgres', "set max_parallel_workers_per_gather = 0; explain (analyze, buffers, costs off) select sum(n) from scanned");
	my ($line) = $plan =~ /Buffers: shared (.*)/;
	my $buffers = 0;

	$buffers += $1 while $line =~ /(?:hit|read)=(\d+)/g;
	return $buffers;
}

foreach my $how (
	[ 'an update', 3, 'update scanned set n = n + 1' ],
	[ 'two updates', 24, 'update scanned set n = n + 1; update scanned set n = n + 1' ],
	[ 'a savepoint', 3, 'savepoint s; update scanned set n = n + 1; rollback to s' ],
	[ 'a deletion', 3, 'delete from scanned' ])
{
	my ($what, $most, $statements) = @$how;

	$node->safe_psql('postgres', "drop table if exists scanned; create table scanned (id int, n int, v text) using zheap; insert into scanned select g, 1, repeat('v', 40) from generate_series(1, 20000) g");
	my $normal = scan_buffers();

	$node->safe_psql('postgres', "begin; $statements; insert into scanned values (0, 1000); rollback");
	my $after = scan_buffers();

	cmp_ok($normal, '>', 100, "$what: the table has $normal pages");
	cmp_ok($after, '<=', $most * $normal, "$what taken back: a scan reads $after");
	cmp_ok($after, '>', $normal, "$what taken back: nobody has put the rows back");
	is($node->safe_psql('postgres', 'select count(*), sum(n) from scanned'), '20000|20000', "$what taken back: the rows are right");
}
$node->append_conf('postgresql.conf', "zheap.undo_workers = 3\n");
$node->restart;

# the table goes while its undo waits
$node->safe_psql('postgres', <<'SQL');
create table gone (like big) using zheap;
insert into gone select * from big limit 50000;
begin; update gone set n = 0; rollback;
drop table gone;
create table shrunk (like big) using zheap;
insert into shrunk select * from big limit 50000;
begin; update shrunk set n = 0; rollback;
truncate shrunk;
insert into shrunk values (1, 1, 'new');
SQL
wait_undone($node, 'undo of tables that are gone does not stay');
is($node->safe_psql('postgres', 'select * from shrunk'), '1|1|new', 'and does no harm');
btrees_agree($node, 'at the end', 'big_pkey');
reads_right('at the end');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
