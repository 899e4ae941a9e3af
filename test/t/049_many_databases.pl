# More databases in use at once than 128, and one after the other more than there is room for; logs of a peak of writers do not stay.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $databases = 142;
my $writers = 24;
my $node = new_server('many', [ 'max_connections = 200', 'autovacuum = off', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h', 'synchronous_commit = off',
	'shared_buffers = 128MB' ]);

$node->safe_psql('postgres', 'create database t');
$node->safe_psql('t', 'create extension zheap; create table c (id int, n int) using zheap; insert into c select g, 0 from generate_series(1, 200) g');
$node->safe_psql('postgres', join(";\n", map { "create database d$_ template t strategy file_copy" } 1 .. $databases));

# A query of MaxBackends and max_prepared_transactions, m and p.
sub most_processes
{
	# since 17 slot synchronization has a place beside autovacuum's launcher; since 18 places of autovacuum workers are a setting of their own
	my $special = pg_major() < 17 ? 1 : 2;
	my $workers = pg_major() < 18 ? 'autovacuum_max_workers' : 'autovacuum_worker_slots';

	return "with m as (select sum(setting::int) + $special as m from pg_settings where name in ('max_connections', '$workers', "
	  . "'max_worker_processes', 'max_wal_senders')), p as (select setting::int as p from pg_settings where name = 'max_prepared_transactions') select $_[0] from m, p";
}

sub settings
{
	$node->append_conf('postgresql.conf', join("\n", @_) . "\n");
	$node->start;
	return;
}

# as src/undo/README.md has it
my ($size, $said) = split /\|/, $node->safe_psql('postgres', most_processes("size, (m + 128) * 1710 + (15270 + 2 * (m + p)) * 256 + 4096") =~
	  s/ from m, p$/ from m, p, pg_shmem_allocations where name = 'zheap undo'/r);
ok($size >= 0.9 * $said && $size <= $said, "shared memory for undo is what its README says: $size, at most $said");

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
# with it goes what the sessions have committed
$node->safe_psql('t', 'set synchronous_commit = on; create table flushed ()');

# ---- after a crash a worker comes to each that has something to do; what is known of idle ones makes room for others ----

$node->stop('immediate');
settings('max_connections = 6', 'autovacuum_max_workers = 1', 'max_worker_processes = 3', 'max_wal_senders = 0',
	pg_major() < 18 ? () : 'autovacuum_worker_slots = 1');
cmp_ok($node->safe_psql('postgres', most_processes('m + 128')), '<', $databases, 'there is no room for all databases');
my $wrong = grep { $node->safe_psql("d$_", 'update c set n = n + 1 where id = 2; select sum(n) from c') ne '2' } 1 .. $databases;
is($wrong, 0, 'all are as they were, and can be written to');
ok($node->poll_query_until("d$_", 'select zheap.zheap_undo_pending() = 0'), "a worker comes to d$_") foreach 1, $databases;
$node->stop;
settings('max_connections = 60', 'max_worker_processes = 16');

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
ok($node->poll_query_until('d1', 'select zheap.zheap_undo_pending() = 0'), 'all is rolled back');
$node->stop;
no_crash_in_log($node);
done_testing();
