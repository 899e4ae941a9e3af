# After a restart: what is read of the undo logs does not grow with them, and a damaged log hinders nobody from writing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $BLCKSZ = 8192;
my $EXTENT = 32;
my $node;
my $undo;

sub one
{
	return $node->safe_psql('postgres', $_[0]);
}

sub pages_seen
{
	return one("select heap_blks_read + heap_blks_hit from pg_statio_all_tables where relid = 'zheap.undo'::regclass");
}

sub generation
{
	my ($block) = @_;

	return unpack('v', read_bytes($undo, ($block + 1) * $BLCKSZ - 4, 2));
}

# The last page of the extent that was written.
sub tail
{
	my ($extent) = @_;
	my $block = $extent;

	$block++ while $block % $EXTENT < $EXTENT - 1 && generation($block + 1) == generation($extent);
	return $block;
}

sub damage
{
	my ($block) = @_;

	write_bytes($undo, $block * $BLCKSZ, "\xff" x 20);
	note("block $block is damaged");
	return;
}

sub pending
{
	return one('select zheap.zheap_undo_pending()');
}

# Let the horizon pass all that there is.
sub settle
{
	for (1 .. 3)
	{
		one('select pg_current_xact_id()');
		one('vacuum zheap.undo');
	}
	return;
}

# Two logs with many extents, the last transaction of each rolled back; nobody needs what is on the first page of the first one.
sub fill
{
	my @sessions = map { session($node) } 0 .. 1;
	my $holder = session($node);

	foreach my $i (0, 1)
	{
		my $table = "t$i";

		one("create table $table (id int, f text) using zheap; alter table $table alter f set storage plain");
		one("insert into $table select g, repeat('0', 1000) from generate_series(1, 2000) g");
		one("update $table set f = repeat('x', 1000)");
	}
	settle();
	$holder->query_safe('begin isolation level repeatable read; select count(*) from other');
	$_->query_safe('begin; update other set n = n + 1 where id = 1 + pg_backend_pid() % 90; select 1') foreach @sessions;
	$_->query_safe('commit') foreach @sessions;
	foreach my $i (0, 1)
	{
		my $table = "t$i";

		$sessions[$i]->query_safe("update $table set f = repeat('$_', 1000)") foreach 1 .. 3;
		$sessions[$i]->query_safe("begin; update $table set f = repeat('9', 1000); rollback");
		$sessions[$i]->quit;
	}
	$holder->quit;
	return;
}

foreach my $checksums (0, 1)
{
	my $what = $checksums ? 'with checksums' : 'without checksums';

	$node = new_server("load$checksums", [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_hold_warning = -1' ],
		$checksums ? (extra => ['--data-checksums']) : (checksums => 0));
	$undo = $node->data_dir . '/' . one("select pg_relation_filepath('zheap.undo')");
	one('create table other (id int primary key, n int) using zheap; insert into other select g, 0 from generate_series(1, 100) g');
	fill();
	my $used = one('select live_bytes from zheap.zheap_stat_undo') / $EXTENT / $BLCKSZ;
	cmp_ok($used, '>', 40, "$what: $used extents hold undo");

	# ---- what loading costs ----

	$node->restart;
	my $before = pages_seen();
	one('update other set n = n where id = 1');
	cmp_ok(pages_seen() - $before, '<', 15 + 32 + 20, "$what: a first writer reads the directory, the ends of the logs, and one tail");
	cmp_ok(pending(), '>=', 2, "$what: all logs are to be looked at");

	# ---- damage ----

	$node->stop;
	my ($oldest, undef) = log_ends($undo, 0);
	my (undef, $newest) = log_ends($undo, 1);
	damage($oldest);
	damage(tail($newest));
	$node->start;
	my @writers = map { session($node) } 0 .. 3;
	$_->query_safe("set client_min_messages = error") foreach @writers;
	my $failed = 0;
	foreach my $i (0 .. $#writers)
	{
		my $answer = $writers[$i]->query("begin; update other set n = -1 where id = 1 + $i returning n") // '';
		$failed++ if $answer !~ /^-1$/m;
	}
	is($failed, 0, "$what: writers of another table go on");
	ok($node->log_contains('undo log 0 is damaged in relation "undo", block ' . $oldest), "$what: the log without its first page is reported");
	ok($node->log_contains('undo log 1 is damaged in relation "undo"'), "$what: so is the one whose tail is damaged");
	$_->query_safe('rollback') foreach @writers;
	$_->quit foreach @writers;
	$node->psql('postgres', 'vacuum zheap.undo');
	is(one('select count(*) from t0 where f = repeat(\'3\', 1000)'), 2000, "$what: VACUUM finds the rolled back rows of the first one on their pages");
	one('truncate t1');
	$node->psql('postgres', 'vacuum zheap.undo');
	is(pending(), 0, "$what: nothing waits for the damaged pages when the table of the second one is truncated");
	is(one('select sum(n) from other where id <= 4'), one('select sum(n) from other where id <= 4 and n >= 0'), "$what: the writers' rows are right");
	my $horizon = one('select pg_current_xact_id()');
	settle();
	is(one("select horizon > '$horizon' from zheap.zheap_stat_undo"), 't', "$what: the horizon moves on");
	is(one('select count(*) from t0 where f = repeat(\'3\', 1000)'), 2000, "$what: all is as it was");
	$node->restart;
	one('update other set n = 0');
	is(one('select count(*) from t0 where f = repeat(\'3\', 1000)'), 2000, "$what: after another restart, too");
	$node->stop;
	no_crash_in_log($node, $what);
}
done_testing();
