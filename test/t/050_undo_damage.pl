# Undo that cannot be read: what is on the page is lost and no more.  Committed changes do not wait for it, nor do tables that go; an operator can give up the rest.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $BLCKSZ = 8192;
my $node = new_server('damage', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_worker_naptime = 20ms', 'zheap.undo_hold_warning = -1',
	'log_statement = none' ], checksums => 0);
my $undo = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('zheap.undo')");

sub one
{
	return $node->safe_psql('postgres', $_[0]);
}

sub new_table
{
	my ($table, $tag) = @_;

	one("create table $table (id int, f text) using zheap; alter table $table alter f set storage plain;"
		  . "insert into $table select g, repeat('$tag', 250) from generate_series(1, 1000) g");
	return;
}

# Stop, damage the undo page in the middle of those with this text, and start.  Returns the number of such pages.
sub damage
{
	my ($tag) = @_;

	$node->stop;
	my $content = slurp_file($undo);
	my @blocks = grep { substr($content, $_ * $BLCKSZ, $BLCKSZ) =~ /(?:$tag){20}/ } 32 .. length($content) / $BLCKSZ - 1;
	my $block = $blocks[ @blocks / 2 ];
	write_bytes($undo, $block * $BLCKSZ, "\xff" x 20);
	note("block $block of " . scalar @blocks);
	$node->start;
	return scalar @blocks;
}

sub pending
{
	return one("select zheap.zheap_undo_pending() || ' ' || count(*) from zheap.zheap_undo_holders where kind = 'rollback'");
}

sub horizon_moves
{
	my $before = one('select horizon from zheap.zheap_stat_undo');

	one('select pg_current_xact_id()');
	one('vacuum zheap.undo');
	return one("select horizon > '$before' from zheap.zheap_stat_undo");
}

# ---- committed changes ----

new_table('c', 'old1');
one("update c set f = repeat('new1', 250)");
cmp_ok(damage('old1'), '>', 50, 'an undo page of a committed update is damaged');
isnt(pending(), '0 0', 'after a restart nobody knows that it was committed');
my ($rc, $out, $err) = $node->psql('postgres', 'vacuum zheap.undo');
is($rc, 0, 'VACUUM of the undo relation gets by');
like($err, qr/WARNING: .*could not roll back/, 'and tells of it');
is(pending(), '0 0', 'nothing waits for it');
is(horizon_moves(), 't', 'nor does the horizon');
is(one("select count(*) from c where f = repeat('new1', 250)"), 1000, 'the table is right');

# ---- rolled back ones; their table goes ----

new_table('a', 'old2');
one("begin; update a set f = repeat('new2', 250); rollback");
one("begin; update c set f = 'never'; rollback");
my $pages = one("select pg_relation_size('a') / $BLCKSZ + pg_relation_size('c') / $BLCKSZ");
damage('old2');
set_and_reload($node, 'zheap.undo_workers = 2');
ok($node->poll_query_until('postgres', "select pages_rolled_back > 0.9 * $pages from zheap.zheap_stat_workers where role = 'launcher'"),
	'all is rolled back but what is on the damaged page');
set_and_reload($node, 'zheap.undo_workers = 0');
is(one("select count(*) from c where f = repeat('new1', 250)"), 1000, 'other tables are right');
($rc, $out, $err) = $node->psql('postgres', 'vacuum zheap.undo');
like($err, qr/WARNING: .*could not roll back rows in block \d+ of table "a"/, 'VACUUM names the table and a block of it');
is(pending(), '1 1', 'for which the log waits');
one('truncate a');
one('vacuum zheap.undo');
is(pending(), '0 0', 'until the table is truncated');
is(horizon_moves(), 't', 'then the horizon moves');

# ---- or it stays ----

new_table('s', 'old3');
one("begin; update s set f = repeat('new3', 250); rollback");
damage('old3');
$node->psql('postgres', 'vacuum zheap.undo');
is(pending(), '1 1', 'it waits again');
one('create role somebody; grant usage on schema zheap to somebody');
($rc, $out, $err) = $node->psql('postgres', 'set role somebody; select zheap.zheap_undo_skip()');
like($err, qr/permission denied/, 'not everybody may give up undo');
($rc, $out, $err) = $node->psql('postgres', 'select zheap.zheap_undo_skip() between 1 and 10');
is($out, 't', 'a superuser may give up some pages');
like($err, qr/WARNING: .*gave up rolling back rows in block \d+ of table "s"/, 'and is told which');
ok($node->log_contains('gave up rolling back rows in block \d+ of table "s"'), 'as is the log');
is(pending(), '0 0', 'nothing waits any more');
is(horizon_moves(), 't', 'and the horizon moves');
cmp_ok(one("select count(*) from s where f = repeat('old3', 250)"), '>', 900, 'the other pages are right');
is(one('select zheap.zheap_undo_skip()'), 0, 'there is no more to give up');

# ---- pages of zeros, which are like pages that were never written ----

foreach my $which (qw(first hole))
{
	my $table = "zero_$which";
	my $tag = $which eq 'first' ? 'old4' : 'old5';

	new_table($table, $tag);
	one("begin; update $table set f = repeat('new6', 250); rollback");
	$node->stop;
	my $content = slurp_file($undo);
	my @blocks = grep { substr($content, $_ * $BLCKSZ, $BLCKSZ) =~ /(?:$tag){20}/ } 32 .. length($content) / $BLCKSZ - 1;
	# the first page of an extent that others lead to and from, or one just before the last of all
	my ($block) = $which eq 'first' ? grep({ $_ % 32 == 0 && $_ > $blocks[32] } @blocks) : $blocks[-2];
	write_bytes($undo, $block * $BLCKSZ, "\0" x $BLCKSZ);
	$node->start;
	note("block $block of @blocks[0, -1]");
	$node->psql('postgres', 'vacuum zheap.undo');
	like(pending(), qr/^[1-9]\d* 1$/, "$which: that is not taken for the end of the log");
	one('select zheap.zheap_undo_skip()');
	is(pending(), '0 0', "$which: it can be given up");
	is(horizon_moves(), 't', "$which: the horizon moves");
	cmp_ok(one("select count(*) from $table where f = repeat('$tag', 250)"), '>', 900, "$which: and it costs what was on it");
}

# ---- the meta page ----

sub meta_page
{
	my ($bytes) = @_;

	$node->stop;
	my $had = read_bytes($undo, 0, $BLCKSZ);
	write_bytes($undo, 0, $bytes);
	$node->start;
	return $had;
}

foreach my $bytes ("\xff" x 20, "\0" x $BLCKSZ)
{
	my $had = meta_page($bytes);

	is(one("select count(*) from c where f = repeat('new1', 250)"), 1000, 'without the meta page tables can be read');
	($rc, $out, $err) = $node->psql('postgres', 'delete from c');
	like($err, qr/ERROR: .*zheap data is damaged in relation "undo", block 0/, 'but not be written');
	meta_page($had);
	one("update c set f = repeat('new1', 250)");
	is(one("select count(*) from c where f = repeat('new1', 250)"), 1000, 'all is well when it is back');
}

$node->stop;
no_crash_in_log($node);

# ---- a directory page of a running server ----

$node = new_server('directory', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_hold_warning = -1' ], checksums => 0);
$undo = $node->data_dir . '/' . one("select pg_relation_filepath('zheap.undo')");
SKIP:
{
	skip 'zheap_unit is not installed', 1 unless has_unit($node);

	one('create extension zheap_unit');
	new_table('d', 'old1');
	new_table('e', 'old1');

	# Its end, or the entry of the first log, as they are in the buffer pool.
	sub damage_directory
	{
		my ($at) = @_;

		one("select zheap_unit_damage('zheap.undo', 1, $at, '\\xffffffff')");
		return;
	}

	# Once more, the page has been made anew.
	my $mended = 0;

	sub is_mended
	{
		my ($what) = @_;

		$mended++;
		is(scalar(() = slurp_file($node->logfile) =~ /LOG:  directory of undo relation "undo" is damaged in block 1 and is written again/g), $mended,
			"$what: the page is made anew");
		return;
	}

	my $writer = session($node);
	my $other = session($node);
	my $extents = one('select live_bytes from zheap.zheap_stat_undo') / 32 / $BLCKSZ;
	$writer->query_safe("begin; update d set f = repeat('new1', 250) where id = 1");
	damage_directory(12);
	$writer->query_safe("update d set f = repeat('new1', 250)");
	is_mended('a writer that needs an extent goes on');
	damage_directory(24);
	$other->query_safe("begin; update e set f = repeat('new1', 250); update e set f = repeat('new2', 250); commit");
	is_mended('another log');
	$writer->query_safe('rollback');
	cmp_ok(one('select live_bytes from zheap.zheap_stat_undo') / 32 / $BLCKSZ, '>', $extents + 8, 'they have some extents each');
	$_->quit foreach $writer, $other;

	damage_directory(12);
	one('vacuum zheap.undo');
	is_mended('VACUUM');
	is(pending(), '0 0', 'it rolls back what is to be');
	damage_directory(24);
	is(horizon_moves(), 't', 'the horizon moves');
	is_mended('beside');
	one('select pg_current_xact_id()');
	damage_directory(24);
	one("begin; update d set f = repeat('new1', 250); rollback");
	is_mended('a writer after that');
	my @ends = log_ends($undo, 0);
	one('checkpoint');
	cmp_ok((log_ends($undo, 0))[1], '!=', $ends[1], 'the first log has another newest extent than when it was written last');
	damage_directory(24);
	one("update e set f = repeat('new3', 250)");
	is_mended('before a crash');
	crash($node);
	start_again($node);
	one('vacuum zheap.undo');
	is(pending(), '0 0', 'all is rolled back after the crash');
	is(one("select count(*) from d where f = repeat('old1', 250)"), 1000, 'one table is right');
	is(one("select count(*) from e where f = repeat('new3', 250)"), 1000, 'so is the other');
	is(horizon_moves(), 't', 'and the horizon moves');
	damage_directory(12);
	one('vacuum zheap.undo');
	is_mended('without a writer');
	$node->restart;
	one("update e set f = repeat('new4', 250)");
	ok(!$node->log_contains('undo log \d+ is damaged'), 'no log was lost');

	# ---- the first page of the extent that a transaction writes to, which it cannot leave then ----

	# The newest extent of the session's log: its transaction has begun it some pages ago.  Logs of others may lose theirs.
	sub new_extent
	{
		my ($session) = @_;
		my $change = "update d set f = repeat(left(md5(random()::text), 4), 250) where id";
		my (@had, @new);

		until (@new)
		{
			my @ends = map { (log_ends($undo, $_))[1] } 0 .. 9;

			@new = grep { defined } map { @had && $ends[$_] != $had[$_] && $ends[$_] != 0xffffffff ? $ends[$_] : undef } 0 .. 9;
			@had = @ends;
			$session->query_safe("$change <= 10");
			one('checkpoint');
		}
		$session->query_safe("$change <= 10") foreach 1 .. 4;
		return $new[0];
	}

	foreach my $end (qw(commit rollback))
	{
		my $session = session($node);
		my $digest = table_digest($node, 'd');
		# other bytes than there are, or undo would be short
		my ($few, $most) = $end eq 'commit' ? qw(new5 new6) : qw(new7 new8);

		$session->query_safe("begin; savepoint s; update d set f = repeat('never', 200) where id <= 40; rollback to s");
		my $extent = new_extent($session);
		$session->query_safe("update d set f = repeat('$few', 250) where id <= 10");
		one("select zheap_unit_damage('zheap.undo', $extent, 12, '\\xffffffff')");
		is(($session->query("update d set f = repeat('$most', 250) where id > 40"))[1], 0, "$end: the transaction goes on in another log");
		is($session->query_safe("savepoint s; update d set f = repeat('never', 200) where id between 11 and 20; rollback to s; select count(*) from d where f like 'new_new%'"),
			970, "$end: and sees what it did");
		isnt(pending(), '0 0', "$end: what it wrote in the first one is to be looked at");
		$session->query_safe($end);
		one('vacuum zheap.undo');
		is(pending(), '0 0', "$end: which VACUUM does");
		is(one("select count(*) filter (where f like 'new5%') || ' ' || count(*) filter (where f like 'new6%') || ' ' || count(*) filter (where f like 'never%') from d"),
			'10 960 0', "$end: all of it is there")
		  if $end eq 'commit';
		is(table_digest($node, 'd'), $digest, "$end: nothing of it is there") if $end eq 'rollback';
		is(horizon_moves(), 't', "$end: the horizon moves");
		$session->quit;
	}
	my %told = map { $_ => 1 } slurp_file($node->logfile) =~ /(undo log \d+ is damaged in relation "undo", block \d+)/g;
	is(scalar(keys %told), 2, 'the server log tells of both');
}

$node->stop;
no_crash_in_log($node);
done_testing();
