# What waits costs nothing, and nothing costs in proportion to undo that it is not about: counts of what workers read, not times.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $EXTENT = 32 * 8192;
my $node = new_server('proportion', [ 'shared_buffers = 256MB', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h', 'autovacuum = off', 'synchronous_commit = off',
	'max_prepared_transactions = 5', 'zheap.undo_worker_naptime = 20ms' ]);

$node->safe_psql('postgres', <<'SQL');
create table wide (id int, f text) using zheap;
alter table wide alter f set storage plain;
insert into wide select g, repeat('a', 1000) from generate_series(1, 20000) g;
create table small (id int primary key, n int) using zheap;
insert into small select g, 0 from generate_series(1, 100) g;
SQL

sub one
{
	return $node->safe_psql('postgres', $_[0]);
}

# Bytes of undo that workers have gone through since the start.
sub undo_read
{
	return one("select undo_bytes_done from zheap.zheap_stat_workers where role = 'launcher'");
}

# Pages of the undo relation that were looked at, by processes that have told so: no worker is left.
sub pages_seen
{
	ok($node->poll_query_until('postgres', "select count(*) = 0 from zheap.zheap_stat_workers where role = 'worker'"), 'the workers have gone');
	return one("select heap_blks_read + heap_blks_hit from pg_statio_all_tables where relid = 'zheap.undo'::regclass");
}

# Roll back one row in the session so many times, and wait each time until it is rolled back: what else is left counts $left transactions.
sub roll_back
{
	my ($session, $times, $left) = @_;

	for my $i (1 .. $times)
	{
		$session->query_safe("begin; update small set n = n + 1 where id = $i; rollback");
		$node->poll_query_until('postgres', "select pending_transactions = $left from zheap.zheap_stat_undo") or return 0;
	}
	return 1;
}

# ---- a prepared transaction, and 20 MB of undo behind it in its log ----

my $writer = session($node);
my $other = session($node);

$writer->query_safe("begin; update small set n = 1 where id = 100; prepare transaction 'in doubt'");
$other->query_safe('begin; update small set n = 1 where id = 99; rollback');
$writer->query_safe("begin; update wide set f = repeat('b', 1000); rollback");
ok($node->poll_query_until('postgres', 'select pending_transactions = 1 from zheap.zheap_stat_undo'), 'all but the prepared transaction is rolled back');
my $before = undo_read();
cmp_ok($before, '>', 20_000_000, 'once');
ok($node->poll_query_until('postgres', "select count(*) = 0 from zheap.zheap_stat_workers where role = 'worker'"), 'then no worker stays');
cmp_ok(undo_read() - $before, '<', $EXTENT, 'nor reads again what waits');
$before = undo_read();
ok(roll_back($other, 10, 1), 'ten rows are rolled back in another log');
ok(roll_back($writer, 10, 1), 'and ten in the same one');
cmp_ok(undo_read() - $before, '<', 20 * $EXTENT, 'which costs what they are');
$before = undo_read();
one('vacuum zheap.undo');
is(one("select n from small where id = 100"), 0, 'the prepared transaction is in doubt still');
is(one('select count(*), max(f) = repeat(\'a\', 1000) from wide'), '20000|t', 'what was rolled back is so');
one("rollback prepared 'in doubt'");
wait_undone($node, 'it is rolled back when it has ended');
is(one('select sum(n) from small'), 0, 'as all others');

# ---- five rows, with little and with much undo that a snapshot keeps ----

sub cost_of_five
{
	my $seen = pages_seen();

	ok(roll_back($writer, 5, 0), 'five rows are rolled back');
	return pages_seen() - $seen;
}

my $few = cost_of_five();
my $reader = session($node);
$reader->query_safe('begin isolation level repeatable read; select count(*) from small');
$other->query_safe("update wide set f = repeat('$_', 1000)") foreach 'c' .. 'e';
my $kept = one('select live_bytes from zheap.zheap_stat_undo') / $EXTENT;
cmp_ok($kept, '>', 200, "a snapshot keeps $kept extents");
my $many = cost_of_five();
cmp_ok($many, '<', $few + $kept, "five rows cost $few pages of undo without them, and $many with them");

# ---- a writer that needs an extent, when the snapshot ends ----

set_and_reload($node, 'zheap.undo_workers = 0');
$reader->query_safe('commit; select pg_current_xact_id()');
my $free = one('select free_bytes from zheap.zheap_stat_undo');
my $sessions = one('select logs from zheap.zheap_stat_undo');
my @writers = map { session($node) } 0 .. $sessions;
$_->query_safe('begin; update small set n = n + 1 where id = 1 + pg_backend_pid() % 90') foreach @writers;
cmp_ok(one('select logs from zheap.zheap_stat_undo'), '>', $sessions, 'a writer begins a log');
cmp_ok((one('select free_bytes from zheap.zheap_stat_undo') - $free) / $EXTENT, '<=', 8 * @writers, 'it does not free all that is free to go');
$_->query_safe('rollback') foreach @writers;
one('vacuum zheap.undo');
cmp_ok(one('select live_bytes from zheap.zheap_stat_undo') / $EXTENT, '<', $kept / 2, 'VACUUM does');

$_->quit foreach $writer, $other, $reader, @writers;
$node->stop;
no_crash_in_log($node);
done_testing();
