# All undo given up and the undo relation made anew: nobody loses a row, a standby follows, and it waits for whoever may need undo.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $BLCKSZ = 8192;
my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_hold_warning = -1', "wal_consistency_checking = 'zheap'",
	'max_prepared_transactions = 5', 'wal_keep_size = 2GB', 'hot_standby_feedback = off' ], allows_streaming => 1, checksums => 0);
my $undo = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('zheap.undo')");

sub one
{
	return $node->safe_psql('postgres', $_[0]);
}

sub fails
{
	my ($sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $sql);

	isnt($rc, 0, "refused: $sql");
	return $err;
}

# Change bytes of blocks of the undo relation while the server is stopped.
sub damage
{
	my (%bytes) = @_;

	$node->stop;
	write_bytes($undo, $_ * $BLCKSZ + 30, $bytes{$_}) foreach keys %bytes;
	$node->start;
	return;
}

my $sums = 'select count(*), sum(id), min(f), max(f) from ';

one("create table c (id int, f text) using zheap; create table a (id int, f text) using zheap;"
	  . "insert into c select g, 'old' from generate_series(1, 5000) g; insert into a select g, 'old' from generate_series(1, 5000) g");
my $standby = new_standby($node, 'standby');

# ---- what it waits for ----

one("begin; update a set f = 'aborted'; rollback; update c set f = 'new'");
like(fails("begin; insert into c values (0, 'x'); select zheap.zheap_undo_skip(true)"), qr/cannot run inside a transaction block/, 'not within a transaction');
one("begin; insert into c values (5001, 'new'); prepare transaction 'p'");
like(fails("set lock_timeout = 100; select zheap.zheap_undo_skip(true)"), qr/lock timeout/, 'it waits for a prepared transaction');
one("commit prepared 'p'");
my $holder = $node->background_psql('postgres');
$holder->query_safe('begin isolation level repeatable read; select count(*) from pg_class');
like(fails('select zheap.zheap_undo_skip(true)'), qr/older snapshots are open/, 'nor does it go on beside a snapshot from before');
$holder->query_safe('commit');
$holder->quit;

# ---- it is made anew ----

is(one("$sums a"), '5000|12502500|old|old', 'a rolled back update is not seen');
cmp_ok(-s $undo, '>', 64 * $BLCKSZ, 'there is undo');
is(one('select zheap.zheap_undo_skip(true)'), 0, 'nothing is given up');
is(-s $undo, 32 * $BLCKSZ, 'the undo relation is as short as a new one');
is(one("$sums a"), '5000|12502500|old|old', 'what was rolled back stays so');
is(one("$sums c"), '5001|12507501|new|new', 'what was committed, too');
is(one('select zheap.zheap_undo_pending()'), 0, 'nothing is pending');
caught_up($node, $standby);
is($standby->safe_psql('postgres', "$sums a"), '5000|12502500|old|old', 'a standby has seen it');
like(fails("insert into c select zheap.zheap_undo_skip(true), 'x'"), qr/has given up undo/, 'its own statement changes no table after it');
like(fails("create temp table own (i int) using zheap; insert into own values (1); do 'begin perform zheap.zheap_undo_skip(true); update own set i = 2; end'"),
	qr/has given up undo/, 'nor a temporary one');
one("begin; update c set f = 'aborted'; rollback; update a set f = 'new'; vacuum zheap.undo");
is(one("$sums c"), '5001|12507501|new|new', 'undo is written as ever');
caught_up($node, $standby);
is($standby->safe_psql('postgres', "$sums c"), '5001|12507501|new|new', 'and replayed');
$node->stop('immediate');
$node->start;
is(one("$sums c"), '5001|12507501|new|new', 'all is there after a crash');

# ---- what it is for ----

one("begin; update c set f = 'aborted'; rollback");
damage(0 => 'xx', 1 => 'yy', 16 => 'zz');
is(one("$sums a"), '5000|12502500|new|new', 'without meta page, directory and map tables can be read');
like(fails('insert into a values (1)'), qr/zheap data is damaged in relation "undo", block 0/, 'but not be written');
my ($rc, $out, $err) = $node->psql('postgres', 'select zheap.zheap_undo_skip(true)');
is($rc, 0, 'the undo relation is made anew');
is($out, 0, 'without loss, as the undo itself was readable');
is(one("$sums c"), '5001|12507501|new|new', 'what was rolled back stays so');
one("insert into a values (5001, 'new')");
is(one("$sums a"), '5001|12507501|new|new', 'tables can be written');
my $before = one('select horizon from zheap.zheap_stat_undo');
one('select pg_current_xact_id()');
one('vacuum zheap.undo');
cmp_ok(one('select horizon from zheap.zheap_stat_undo'), '>', $before, 'the horizon moves');
ok($node->log_contains('all undo of database "postgres" was given up'), 'the log tells');

# ---- writers do without one directory page, or a free map ----

foreach my $case ([ 1, qr/undo log 0 is damaged in relation "undo", block 1/ ], [ 16, qr/free map of undo relation "undo" is damaged in block 16/ ])
{
	my ($block, $message) = @$case;

	one("begin; update a set f = 'aborted' where id <= 1000; rollback");
	one("update a set f = 'new'") foreach 1 .. 10;
	damage($block => "\x55\xaa");
	one("insert into a values (0, 'new')");
	is(one("select count(*) from a where f = 'aborted'"), 0, "without block $block what was rolled back is not seen");
	one('vacuum zheap.undo');
	$before = one('select horizon from zheap.zheap_stat_undo');
	one('select pg_current_xact_id()');
	one('vacuum zheap.undo');
	cmp_ok(one('select horizon from zheap.zheap_stat_undo'), '>', $before, 'VACUUM gets the horizon moving');
	ok($node->log_contains($message), 'the log tells');
	one('select zheap.zheap_undo_skip(true)');
}
$standby->stop;

# ---- a crash after it, beside a transaction that has got its number while the function waited, and has written no WAL ----

my $user = session($node);
my $skip = session($node);
my $other = session($node, 'template1');
$user->query_safe("begin; insert into a values (0, 'kept')");
begin_in($skip, 'select zheap.zheap_undo_skip(true)');
ok(wait_until(sub { one("select count(*) from pg_stat_activity where pid = $skip->{pid} and wait_event_type = 'Lock'") == 1 }), 'the function waits');
$other->query_safe('begin; select pg_current_xact_id()');
$user->query_safe('commit');
ok(wait_until(sub { ended($skip) }), 'it is done');
$node->stop('immediate');
$node->start;
is(one("select count(*) from a where f = 'kept'"), 1, 'the first query is answered');
one("begin; insert into a values (0, 'aborted'); rollback");
is(one("select count(*) from a where f = 'aborted'"), 0, 'and what new transactions do is not visible too early');
eval { $_->quit } foreach $user, $skip, $other;
$node->stop;
no_crash_in_log($node);
no_crash_in_log($standby);
done_testing();
