# A snapshot that a logical slot has exported sees what is committed in the WAL, even where the transaction has not ended yet, as it waits
# for a synchronous standby.  It is read; but whoever wants to change it waits for the transaction.  (On heap it may not, as the reader
# leaves hint bits behind.  Later minor versions of the server export such a snapshot only when the transaction has ended.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('slot', ['autovacuum = off'], allows_streaming => 'logical');

$node->safe_psql('postgres', 'create table t (id int primary key, n int) using zheap; insert into t select g, 0 from generate_series(1, 10) g');
$node->safe_psql('postgres', "alter system set synchronous_standby_names = 'nobody'");
$node->reload;

sub local_session
{
	my $session = session($node);

	$session->query_safe("set synchronous_commit = local");
	return $session;
}

# a transaction that the slot has to wait for
sub in_transaction
{
	my $session = local_session();

	$session->query_safe('begin; select pg_current_xact_id()');
	return $session;
}

sub is_waited_for
{
	my ($session) = @_;

	return $node->safe_psql('postgres',
		"select count(*) from pg_locks l, pg_locks h where not l.granted and l.locktype = 'transactionid' and h.granted and h.transactionid = l.transactionid and h.pid = $session->{pid}") > 0;
}

sub waits_for
{
	my ($session, $what) = @_;

	wait_until(sub { is_waited_for($session) }) or die $what;
	return;
}

my $first = in_transaction();
my $exporter = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') . ' replication=database' ],
	'<', \my $commands, '>', \my $answers, '2>', \my $errors, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$commands = "CREATE_REPLICATION_SLOT s LOGICAL test_decoding (SNAPSHOT 'export');\n";
$exporter->pump_nb;
waits_for($first, 'the slot waits for the first transaction');
my $second = in_transaction();
$first->query_safe('commit');
waits_for($second, 'and for the second');

# it begins and commits while the snapshot is built, and cannot end
my $waiting = session($node);

$waiting->query_safe('begin; update t set n = 1 where id <= 5');
begin_in($waiting, 'commit');
wait_until(sub { $node->safe_psql('postgres', "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == 1 }) or die 'does not wait for a standby';
$second->query_safe('commit');
wait_until(sub { $exporter->pump_nb; $answers =~ /test_decoding/ || is_waited_for($waiting) }) or die 'no snapshot';
my ($snapshot) = $answers =~ /([0-9A-F-]+)\|test_decoding/;

SKIP:
{
	skip 'the server itself waits for the transaction', 6 if !defined $snapshot;
	my $importer = local_session();

	$importer->query_safe("begin isolation level repeatable read; set transaction snapshot '$snapshot'");
	is($importer->query_safe('select sum(n) from t'), 5, 'the snapshot sees what is committed in the WAL');
	is($node->safe_psql('postgres', 'select sum(n) from t'), 0, "others don't");
	$importer->query_safe("set lock_timeout = '200ms'");
	$importer->query('update t set n = n + 10 where id = 3');
	like($importer->{stderr}, qr/canceling statement due to lock timeout/, 'a change of it waits until the transaction has ended');
	$importer->{stderr} = '';
	is($node->safe_psql('postgres', 'select sum(n) from t'), 0, 'nobody sees it before');
	$importer->query_safe('rollback');
	$importer->query_safe("begin isolation level repeatable read; set transaction snapshot '$snapshot'; insert into t values (11, 0)");
	is($importer->query_safe('select sum(n) from t'), 5, 'the same beside a new row in the page');
	$importer->query_safe('commit');
	is($node->safe_psql('postgres', 'select sum(n) from t'), 0, 'which shows others nothing of it');
	$importer->quit;
}
$node->safe_psql('postgres', "alter system reset synchronous_standby_names");
$node->reload;
wait_until(sub { ended($waiting) }) or die 'does not end';
is($node->safe_psql('postgres', 'select sum(n) from t'), 5, 'it has ended');
$exporter->kill_kill;
$_->quit foreach $first, $second, $waiting;
no_crash_in_log($node, 'to the end');
$node->stop;
done_testing();
