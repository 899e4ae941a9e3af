# VACUUM's horizon beside whoever may still need old rows: it removes what heap's VACUUM removes at that moment, no more and no less.
# Snapshots, open and prepared transactions, slots and standby feedback in turn; each is named as a holder of undo, with its bytes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('horizon', [ 'zheap.max_changed_indexes = 0', 'autovacuum = off', 'wal_level = logical', 'max_replication_slots = 5', 'max_wal_senders = 5',
		'zheap.undo_worker_naptime = 50ms', 'max_prepared_transactions = 5', 'wal_keep_size = 1GB' ],
	allows_streaming => 1);
$node->safe_psql('postgres', <<'SQL');
create table h (id int primary key, k int, v text) using heap;
create table z (id int primary key, k int, v text) using zheap;
create index on h (k);
create index on z (k);
create table other (id int primary key, v text) using zheap;
create table undo_maker (id int, n int) using zheap;
insert into other select g, 'v' from generate_series(1, 100) g;
insert into undo_maker select g, 0 from generate_series(1, 20000) g;
SQL
$node->safe_psql('postgres', 'create database elsewhere');
$node->safe_psql('elsewhere', 'create extension zheap; create table t (a int) using zheap');

my $rows = 4000;

# An old reader holds the rows of both tables, if it has a snapshot.
sub fill
{
	$node->safe_psql('postgres', "truncate $_; insert into $_ select g, g, repeat('v', 40) from generate_series(1, $rows) g") foreach qw(h z);
	$node->safe_psql('postgres', 'vacuum h, z');
	return;
}

# How many rows are dead but not removable.
sub vacuum
{
	my ($table) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "vacuum (verbose, index_cleanup on) $table");

	return $err =~ /(\d+) are dead but not yet removable/ ? $1 : $err;
}

sub both_leave
{
	my ($what, $dead) = @_;

	is(vacuum('h'), $dead, "$what: heap's VACUUM leaves what is needed");
	is(vacuum('z'), $dead, "$what: zheap's leaves the same");
	return;
}

# Something for VACUUM, and undo worth a megabyte or more, all of it younger than the holder.
sub change
{
	foreach my $table (qw(h z))
	{
		$node->safe_psql('postgres', "delete from $table where id <= 1000");
		$node->safe_psql('postgres', "update $table set k = -k where id between 1001 and 1500");
		$node->safe_psql('postgres', "begin; insert into $table select g, g, 'gone' from generate_series(10001, 10300) g; rollback");
	}
	$node->safe_psql('postgres', 'update undo_maker set n = n + 1') foreach 1 .. 2;
	return;
}

# Nobody else is in the way, such as an idle session that ends.
sub held
{
	my ($what, $condition) = @_;

	both_leave($what, 1500);
	is($node->safe_psql('postgres', "select count(*) from zheap.zheap_undo_holders where $condition and undo_bytes > 1000000 and age > 5"),
		'1', "$what: named as a holder, with its bytes")
	  or diag($node->safe_psql('postgres', 'table zheap.zheap_undo_holders'));
	is($node->safe_psql('postgres', "select $condition from zheap.zheap_undo_holders limit 1"), 't', "$what: and the oldest");
	cmp_ok($node->safe_psql('postgres', 'select live_bytes from zheap.zheap_stat_undo'), '>', 1000000, "$what: undo is kept");
	return;
}

sub let_go
{
	my ($what) = @_;

	$node->safe_psql('postgres', 'select pg_current_xact_id()') foreach 1 .. 2;
	both_leave("$what has gone", 0);
	ok($node->poll_query_until('postgres', 'select live_bytes < 3000000 from zheap.zheap_stat_undo'), "$what has gone: undo is discarded");
	return;
}

# ---- nobody ----

fill();
change();
let_go('nobody');

# ---- a snapshot ----

fill();
my $session = $node->background_psql('postgres');
my $pid = $session->query_safe('select pg_backend_pid()');
$session->query_safe('begin isolation level repeatable read');
my $read = "set enable_seqscan = off; set enable_bitmapscan = off; select (select count(v) || ' ' || sum(k) from h where id > 0) = (select count(v) || ' ' || sum(k) from z where id > 0), (select count(v) from z where k between 1 and 1200), (select count(*) from z where id > 10000)";
my $seen = $session->query_safe($read);
is($seen, 't|1200|0', 'a snapshot: what it sees');
change();
held('a snapshot', "kind = 'backend' and pid = $pid");
is($session->query_safe($read), $seen, 'a snapshot: it sees it still');
# what comes anew must not be found in the place of what the snapshot needs
$node->safe_psql('postgres', "insert into $_ select g, g, repeat('n', 40) from generate_series(20001, 21000) g") foreach qw(h z);
is($session->query_safe($read), $seen, 'a snapshot: even beside new rows');
$node->safe_psql('postgres', "delete from $_ where id > 20000") foreach qw(h z);
$session->query_safe('commit');
let_go('a snapshot');

# ---- a transaction that has written and holds no snapshot ----

fill();
$session->query_safe('begin');
$session->query_safe("update other set v = 'x' where id = 1");
change();
held('an open transaction', "kind = 'backend' and pid = $pid");
$session->query_safe('rollback');
let_go('an open transaction');

# ---- a prepared transaction; also through a crash ----

fill();
$node->safe_psql('postgres', "begin; update other set v = 'x' where id = 2; prepare transaction 'the gid'");
change();
held('a prepared transaction', "kind = 'prepared transaction' and gid = 'the gid' and pid is null");
$session->quit;
crash($node);
start_again($node);
held('a prepared transaction after a crash', "kind = 'prepared transaction' and gid = 'the gid'");
$node->safe_psql('postgres', "rollback prepared 'the gid'");
wait_undone($node, 'a prepared transaction: rolled back');
let_go('a prepared transaction');

# ---- a standby without a slot, then with one, which stays when the standby dies ----

my $standby = new_standby($node, 'horizon_standby', 'hot_standby_feedback = on', 'max_standby_streaming_delay = 600s');
foreach my $slot ('', 'the_slot')
{
	my $what = $slot ? 'a replication slot' : 'standby feedback';

	if ($slot)
	{
		$node->safe_psql('postgres', "select pg_create_physical_replication_slot('$slot', true)");
		$standby->append_conf('postgresql.conf', "primary_slot_name = '$slot'\n");
		$standby->restart;
	}
	fill();
	$node->safe_psql('postgres', 'checkpoint');
	caught_up($node, $standby);
	my $reader = $standby->background_psql('postgres', on_error_stop => 0);
	$reader->query_safe('begin isolation level repeatable read');
	my $there = $reader->query_safe($read);
	is($there, 't|1200|0', "$what: what the standby's reader sees");
	wait_for_feedback($node, $standby, "$what: the primary knows");
	change();
	held($what, $slot ? "kind = 'replication slot' and slot_name = '$slot' and pid is null" : "kind = 'standby feedback' and pid is not null");
	caught_up($node, $standby);
	is($reader->query_safe($read), $there, "$what: the standby's reader sees it still");
	is($standby->safe_psql('postgres', 'select confl_snapshot from pg_stat_database_conflicts where datname = current_database()'), '0', "$what: nobody is cancelled");
	if ($slot)
	{
		crash($standby);
		eval { $reader->quit };
		held('the slot of a dead standby', "kind = 'replication slot' and slot_name = '$slot'");
		$node->safe_psql('postgres', "select pg_drop_replication_slot('$slot')");
	}
	else
	{
		$reader->query_safe('commit');
		$reader->quit;
		ok($node->poll_query_until('postgres', "select count(*) = 0 from zheap.zheap_undo_holders where kind = 'standby feedback' and age > 20"), "$what: it goes on");
		$node->poll_query_until('postgres', 'select count(*) = 0 from pg_stat_replication where age(backend_xmin) > 3');
	}
	let_go($what);
}

# ---- those that do not hold it back: another database, decoding of catalogs ----

my $elsewhere = $node->background_psql('elsewhere');
$elsewhere->query_safe('begin isolation level repeatable read');
$elsewhere->query_safe('select count(*) from t');
fill();
$node->safe_psql('postgres', "select pg_create_logical_replication_slot('logical', 'test_decoding')");
change();
let_go('another database and a logical slot');
is($node->safe_psql('postgres', "select count(*) from zheap.zheap_undo_holders where slot_name = 'logical' or age > 20"), '0', 'and are no holders');
$elsewhere->query_safe('commit');
$elsewhere->quit;
$node->safe_psql('postgres', "select pg_drop_replication_slot('logical')");

btrees_agree($node, 'to the end', qw(z_pkey z_k_idx));
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
