# More databases in use at once than 128; logs of a peak of writers do not stay.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $databases = 132;
my $writers = 40;
my $node = new_server('many', [ 'max_connections = 200', 'autovacuum = off', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h', 'synchronous_commit = off',
	'shared_buffers = 128MB' ]);

$node->safe_psql('postgres', 'create database t');
$node->safe_psql('t', 'create extension zheap; create table c (id int, n int) using zheap; insert into c select g, 0 from generate_series(1, 200) g');
$node->safe_psql('postgres', join(";\n", map { "create database d$_ template t" } 1 .. $databases));

# ---- a session in each that writes and stays ----

my @sessions = map { session($node, "d$_") } 1 .. $databases;
my $failed = 0;

foreach my $session (@sessions)
{
	my $answer = eval { $session->query('update c set n = 1 where id = 1 returning n') } // '';
	$failed++ if $answer !~ /^1$/m;
}
is($failed, 0, "$databases databases are written to at the same time");
$sessions[-1]->query_safe('begin; update c set n = 2 where id = 2; rollback');
ok($node->poll_query_until("d$databases", 'select zheap.zheap_undo_pending() = 0'), 'a worker comes to the last one');
$_->quit foreach @sessions;

# ---- after a crash a worker comes to each that has something to do ----

$node->stop('immediate');
$node->start;
is($node->safe_psql("d$_", 'select sum(n) from c'), 1, "d$_ is as it was") foreach 1, $databases;
$node->safe_psql('postgres', join(";\n", map { "drop database d$_" } 2 .. $databases));

# ---- a peak of writers ----

sub logs
{
	return $node->safe_psql('d1', 'select logs from zheap.zheap_stat_undo');
}

my $stays = session($node, 'd1');
$stays->query_safe('update c set n = 0');
my @peak = map { session($node, 'd1') } 1 .. $writers;
$peak[$_]->query_safe('begin; update c set n = n + 1 where id = 1 + ' . $_) foreach 0 .. $#peak;
cmp_ok(logs(), '>', $writers, 'each of many writers has a log');
$_->query_safe('commit') foreach @peak;
$_->quit foreach @peak;
$node->safe_psql('d1', 'select pg_current_xact_id()');
ok($node->poll_query_until('d1', 'select logs <= 6 from zheap.zheap_stat_undo'), 'when they have gone workers retire most of the logs');
is($node->safe_psql('d1', 'select sum(n) from c'), $writers, 'nothing is lost');
@peak = map { session($node, 'd1') } 1 .. $writers;
$peak[$_]->query_safe('begin; update c set n = n - 1 where id = 1 + ' . $_) foreach 0 .. $#peak;
cmp_ok(logs(), '>', $writers, 'they can come back');
$_->query_safe('rollback') foreach @peak;
$_->quit foreach @peak;
$stays->quit;

$node->stop;
$node->start;
is($node->safe_psql('d1', 'select sum(n) from c'), $writers, 'nor after a restart');
ok($node->poll_query_until('d1', 'select zheap.zheap_undo_pending() = 0'), 'all is put back');
$node->stop;
no_crash_in_log($node);
done_testing();
