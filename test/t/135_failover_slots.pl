# pg_createsubscriber makes a standby a subscriber under load; then a subscriber continues with a promoted standby, from a slot that was synchronized there:
# with transactions in progress, prepared and rolled back it has every row of the new primary, and zheap_verify() finds nothing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'pg_createsubscriber and slots for failover have come with PostgreSQL 17' if pg_major() < 17;

my @tables = qw(t whole h);
my @conf = ('autovacuum = off', 'max_prepared_transactions = 10', 'wal_retrieve_retry_interval = 100ms', 'logical_decoding_work_mem = 64kB',
	'max_worker_processes = 20', 'zheap.undo_worker_naptime = 10ms');
my $primary = new_server('primary', \@conf, allows_streaming => 'logical');

$primary->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, v text) using zheap;
create index t_n on t (n);
create table whole (id int, v text) using zheap;
alter table whole replica identity full;
create table h (id int primary key, n int) using heap;
insert into t select g, g, repeat('v', 50) from generate_series(1, 2000) g;
insert into whole select g, 'w' || g from generate_series(1, 200) g;
insert into h select g, g from generate_series(1, 200) g;
begin; update t set n = -1, v = 'gone' where id < 1000; delete from whole; rollback;
SQL

sub contents
{
	my ($node) = @_;

	return join("\n", map { "$_: " . table_digest($node, $_) } @tables);
}

# Without quotes, unlike connstr() with a database.
sub to_server
{
	my ($node) = @_;

	return $node->connstr . ' dbname=postgres';
}

sub found
{
	my ($node, $what) = @_;

	is($node->safe_psql('postgres', 'select * from zheap.zheap_verify_all()'), '', "$what: zheap_verify finds nothing");
	btrees_agree($node, $what, qw(t_pkey t_n));
	return;
}

my $load = $primary->basedir . '/load.sql';
append_to_file($load, <<'SQL');
\set id random(1, 1000)
begin;
update t set n = n + 1 where id = :id;
savepoint a;
update t set v = 'gone' where id = :id;
delete from whole where id = :id % 150 + 1;
rollback to a;
update h set n = n + 1 where id = :id % 150 + 1;
commit;
begin; delete from t where id = :id; insert into whole values (-1, 'gone'); rollback;
SQL

# ---- a standby becomes a subscriber ----

$primary->safe_psql('postgres', "select pg_create_physical_replication_slot('feed')");
my $made = new_standby($primary, 'made', "primary_slot_name = 'feed'", 'hot_standby_feedback = on');
caught_up($primary, $made);
$made->stop;
my $run = pgbench_start($primary, '-c', 2, '-T', 3600, '-f', $load);
$made->command_ok([ 'pg_createsubscriber', '-D', $made->data_dir, '-P', $primary->connstr('postgres'), '-s', $made->host, '-p', $made->port,
		'-d', 'postgres', '-t', $PostgreSQL::Test::Utils::timeout_default, '--publication=made', '--subscription=made' ], 'pg_createsubscriber');
$made->start;
$primary->safe_psql('postgres', "insert into t values (100000, 0, 'after it'); update whole set v = 'changed' where id = 7; delete from t where id = 1");
my ($rc, $out, $err) = pgbench_stop($run);
is($rc, 0, 'load beside it') or diag($err);
$primary->wait_for_catchup('made');
is(contents($made), contents($primary), 'the new subscriber has the same rows');
is($made->safe_psql('postgres', "select pg_is_in_recovery(), v from t where id = 100000"), 'f|after it', 'those that came after it, too');
wait_undone($made, 'the new subscriber: all is rolled back');
found($made, 'the new subscriber');
$made->safe_psql('postgres', 'drop subscription made');
$primary->safe_psql('postgres', "drop publication made");
$made->stop;
no_crash_in_log($made, 'the new subscriber');

# ---- a slot for failover ----

$primary->safe_psql('postgres', "select pg_create_physical_replication_slot('ready')");
my $standby = new_standby($primary, 'standby', "primary_slot_name = 'ready'", 'hot_standby_feedback = on', 'sync_replication_slots = on',
	"primary_conninfo = '" . to_server($primary) . "'");
caught_up($primary, $standby);
# the subscriber gets nothing that the standby does not have
set_and_reload($primary, "synchronized_standby_slots = 'ready'");
my $to = new_server('to', \@conf, allows_streaming => 'logical');
my $columns = 'id int primary key, n int, v text';

$to->safe_psql('postgres', "create table t ($columns) using zheap; create index t_n on t (n); create table whole (id int, v text) using zheap; alter table whole replica identity full; create table h (id int primary key, n int) using zheap");
$primary->safe_psql('postgres', 'create publication moved for table t, whole, h');
$to->safe_psql('postgres', "create subscription moved connection '" . to_server($primary) . "' publication moved with (failover = true, streaming = on)");
$to->wait_for_subscription_sync($primary, 'moved');
is(contents($to), contents($primary), 'the initial copy');

my $slot = "select count(*) from pg_replication_slots where slot_name = 'moved' and synced and not temporary and invalidation_reason is null";

ok($standby->poll_query_until('postgres', $slot, '1'), 'the slot is on the standby');
$primary->safe_psql('postgres', "begin; update t set v = 'in doubt', n = n - 1 where id between 1991 and 2000; delete from whole where id between 191 and 200; prepare transaction 'p'");
my $open = session($primary);
# more than logical_decoding_work_mem: streamed before the transaction ends
$open->query_safe("begin; update t set v = repeat('open', 100) where id between 1001 and 1990");
($rc, $out, $err) = pgbench_run($primary, '-c', 2, '-t', 100, '-f', $load);
is($rc, 0, 'load before the failover') or diag($err);
$primary->wait_for_catchup('moved');
caught_up($primary, $standby);
my $before = contents($primary);
is(contents($to), $before, 'the subscriber is where the primary is');
crash($primary);
eval { $open->{run}->finish };
$standby->promote;
$to->safe_psql('postgres', "alter subscription moved connection '" . to_server($standby) . "'");
is(contents($standby), $before, 'the promoted standby has all rows');
# prepared on the old primary, committed here: decoded from the old primary's WAL
$standby->safe_psql('postgres', "commit prepared 'p'");
wait_undone($standby, 'what was in progress is rolled back there');
($rc, $out, $err) = pgbench_run($standby, '-c', 2, '-t', 100, '-f', $load);
is($rc, 0, 'load on the new primary') or diag($err);
$standby->wait_for_catchup('moved');
isnt(contents($standby), $before, 'rows have changed');
is(contents($to), contents($standby), 'the subscriber has followed it');
is($to->safe_psql('postgres', "select count(*), (select count(*) from whole where id between 191 and 200) from t where v = 'in doubt'"), '10|0', 'what was prepared is there, too');
found($standby, 'the new primary');
found($to, 'its subscriber');
$to->stop;
$standby->stop;
no_crash_in_log($_, $_->name) foreach $primary, $standby, $to;
done_testing();
