# Workers make way: DROP DATABASE, CREATE DATABASE ... TEMPLATE and ALTER DATABASE in the middle of a large rollback succeed, for which
# the server gives other sessions five seconds to leave, and the rollback goes on where it was. One worker serves several databases in turn; one that fails does not come back at once.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use ZheapTest;

my $rows = short() ? 300_000 : 1_000_000;
my $node = new_server('workers', [ 'shared_buffers = 256MB', 'max_wal_size = 4GB', 'autovacuum = off', 'checkpoint_timeout = 1h', 'zheap.undo_worker_naptime = 20ms' ]);

sub large_database
{
	my ($name) = @_;

	$node->safe_psql('postgres', "create database $name");
	$node->safe_psql($name, <<"SQL");
create extension zheap;
create table big (id int, n int) using zheap;
insert into big select g, 0 from generate_series(1, $rows) g;
SQL
	return;
}

sub roll_back
{
	$node->safe_psql($_[0], 'begin; update big set n = n + 1; rollback');
	return;
}

# Roll back until a worker is seen in the database that has rolled back pages.
sub wait_rolling_back
{
	my ($name) = @_;

	for (1 .. 100)
	{
		roll_back($name);
		do
		{
			return 1 if $node->safe_psql('postgres', "select count(*) > 0 from zheap.zheap_stat_workers where datname = '$name' and pages_rolled_back > 0") eq 't';
		} while ($node->safe_psql($name, 'select zheap.zheap_undo_pending()') ne '0');
	}
	return 0;
}

sub timed
{
	my ($statement) = @_;
	my $start = time();
	my ($rc, $out, $err) = $node->psql('postgres', $statement);

	diag($err) if $rc != 0;
	return ($rc, time() - $start);
}

large_database('d');
$node->safe_psql('postgres', 'checkpoint');
my (undef, $alone) = timed('create database copy0 template d');
diag(sprintf('a copy of the database at rest takes %.2f s', $alone));

ok(wait_rolling_back('d'), 'a worker rolls back');
is($node->safe_psql('postgres', "select undo_bytes_total >= undo_bytes_done and undo_bytes_done > 0 and started < now() from zheap.zheap_stat_workers where datname = 'd'"),
	't', 'its progress can be seen');
my ($rc, $seconds) = timed('create database copy1 template d');
is($rc, 0, 'the database can be copied in the middle of it');
diag(sprintf('after %.2f s', $seconds));
is($node->safe_psql('copy1', 'select count(*), sum(n) from big'), "$rows|0", 'the copy is right');
is($node->safe_psql('d', 'select count(*), sum(n) from big'), "$rows|0", 'so is the original');
ok($node->poll_query_until($_, 'select zheap.zheap_undo_pending() = 0'), "$_: the revert comes to its end") foreach 'd', 'copy1';
is($node->safe_psql('copy1', 'select count(*), sum(n) from big'), "$rows|0", 'the copy is right afterwards');

ok(wait_rolling_back('copy1'), 'a worker rolls back again');
($rc, $seconds) = timed('alter database copy1 rename to copy2');
is($rc, 0, 'the database can be renamed');
diag(sprintf('after %.2f s', $seconds));
ok(wait_rolling_back('copy2'), 'the worker comes back');
($rc, $seconds) = timed('drop database copy2');
is($rc, 0, 'the database can be dropped');
diag(sprintf('after %.2f s', $seconds));

# dropped when no worker was there yet
set_and_reload($node, 'zheap.undo_workers = 0');
roll_back('copy0');
$node->safe_psql('postgres', 'drop database copy0');
set_and_reload($node, 'zheap.undo_workers = 1');

# one worker and a database with much to do: another one has its turn
large_database('e');
$node->safe_psql('e', "update big set n = 0") foreach 1 .. 2;
set_and_reload($node, 'zheap.undo_workers = 0');
roll_back('d') foreach 1 .. 5;
roll_back('e');
set_and_reload($node, 'zheap.undo_workers = 1');
my $start = time();
ok($node->poll_query_until('e', 'select zheap.zheap_undo_pending() = 0'), 'a database has its turn beside another one');
diag(sprintf('after %.1f s', time() - $start));
ok($node->poll_query_until('d', 'select zheap.zheap_undo_pending() = 0'), 'and so has that');
diag(sprintf('after %.1f s', time() - $start));
is($node->safe_psql($_, 'select count(*), sum(n) from big'), "$rows|0", "$_: rows") foreach 'd', 'e';

# what a worker cannot do now because a table is locked
my $session = $node->background_psql('d');
$session->query_safe('begin');
$session->query_safe('lock table big');
my $other = $node->background_psql('d', on_error_stop => 0);
$node->safe_psql('d', 'create table small (id int) using zheap; begin; insert into small values (1); rollback');
$session->query_safe('update big set n = 1 where id = 1');
$session->query_safe('commit');
$session->quit;
$other->quit;
ok($node->poll_query_until('d', 'select zheap.zheap_undo_pending() = 0'), 'after a table was locked');

mkdir $node->basedir . '/ts';
$node->safe_psql('postgres', "create tablespace ts location '" . $node->basedir . "/ts'");
# a table that was dropped or rewritten since: nothing is to be done, whatever old transactions there are
foreach my $what ('drop table gone', 'truncate gone', 'vacuum full gone', 'alter table gone alter n type int8', 'alter table gone set tablespace ts')
{
	set_and_reload($node, 'zheap.undo_workers = 0');
	$node->safe_psql('d', 'drop table if exists gone; create table gone (id int, n int) using zheap; insert into gone select g, 0 from generate_series(1, 1000) g');
	my $holder = $node->background_psql('d');
	$holder->query_safe('begin isolation level repeatable read');
	$holder->query_safe('select pg_current_xact_id(), count(*) from small');
	$node->safe_psql('d', 'begin; update gone set n = 1; savepoint s; insert into gone select g, 1 from generate_series(1, 1000) g; rollback');
	isnt($node->safe_psql('d', 'select zheap.zheap_undo_pending()'), '0', "$what: a rollback is pending");
	$node->safe_psql('d', $what);
	set_and_reload($node, 'zheap.undo_workers = 3');
	ok($node->poll_query_until('d', 'select zheap.zheap_undo_pending() = 0'), "$what: settled beside an old transaction");
	is($holder->query_safe('select count(*) from small'), '0', "$what: that is still open");
	$holder->query_safe('commit');
	$holder->quit;
}
# but not one that is being made: its rolled back rows are there when it comes
foreach my $end ('commit', 'rollback')
{
	$node->safe_psql('d', <<"SQL");
begin;
create table made (id int) using zheap;
insert into made values (1);
savepoint s; insert into made select g from generate_series(2, 3000) g; rollback to s;
insert into made values (3001);
prepare transaction 'making';
SQL
	$node->safe_psql('d', 'vacuum zheap.undo');
	$node->safe_psql('d', 'select pg_current_xact_id()') for 1 .. 3;
	$node->safe_psql('d', 'vacuum zheap.undo');
	crash($node);
	start_again($node);
	$node->safe_psql('d', 'vacuum zheap.undo');
	$node->safe_psql('d', 'select pg_current_xact_id()') for 1 .. 3;
	$node->safe_psql('d', 'vacuum zheap.undo');
	$node->safe_psql('d', "$end prepared 'making'");
	is($node->safe_psql('d', 'select count(*), sum(id) from made'), '2|3002', 'a table made by a prepared transaction') if $end eq 'commit';
	ok($node->poll_query_until('d', 'select zheap.zheap_undo_pending() = 0'), "prepared, $end: settled");
	is($node->safe_psql('d', 'select count(*), sum(id) from made; drop table made'), '2|3002', 'the same afterwards') if $end eq 'commit';
}

# dropped after the launcher has looked: the server starts the worker when it is gone
$node->safe_psql('postgres', "create database short");
$node->safe_psql('short', 'create extension zheap; create table t (id int) using zheap; insert into t select generate_series(1, 100000)');
my $aborter = session($node, 'short');
my $dropper = session($node);
$dropper->query_safe('select 1');
$aborter->query_safe('begin; delete from t');
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
# one may come to mark what was inserted; once the postmaster stands still no other one does.  Of one that has just ended it must have heard:
# the launcher waits for that.
ok( wait_until(
		sub {
			kill 'STOP', $postmaster;
			return 1
			  if $dropper->query_safe("select count(*) from zheap.zheap_stat_workers where role = 'worker'") eq '0'
			  && !grep { /^\s*Z/ } `ps -o stat= --ppid $postmaster`;
			kill 'CONT', $postmaster;
			return 0;
		}),
	'no worker is there');
$aborter->query_safe('rollback');
ok(wait_until(sub { $dropper->query_safe("select count(*) from zheap.zheap_stat_workers w join pg_database d on d.oid = w.datid where d.datname = 'short' and w.state = 'starting'") eq '1' }),
	'a worker is to be started');
$aborter->quit;
$dropper->query_safe('drop database short');
kill 'CONT', $postmaster;
ok(wait_until(sub { slurp_file($node->logfile) =~ /background worker "zheap undo worker" \(PID \d+\) exited with exit code 1/ }), 'it has ended');
$dropper->quit;
unlike(slurp_file($node->logfile), qr/database \d+ does not exist|FATAL:  (?!terminating)/, 'which is no reason for alarm, and no other was started in vain');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
