# Conflicts that a subscriber's apply worker reports where another transaction has changed the row, on a zheap table and on a heap table.  The
# server reads the transaction that made the row; from PostgreSQL 19 on it also searches for deleted rows, in heap's format.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $from = new_server('from', ['autovacuum = off'], allows_streaming => 'logical');
my $major = int($from->safe_psql('postgres', 'show server_version_num') / 10000);
plan skip_all => 'the server tells of conflicts from PostgreSQL 18 on' if $major < 18;

my $to = new_server('to', [ 'autovacuum = off', 'track_commit_timestamp = on', 'wal_retrieve_retry_interval = 100ms', 'zheap.undo_worker_naptime = 10ms' ],
	allows_streaming => 'logical');
my @methods = qw(heap zheap);

# keyed: found by its primary key; whole: by all its values
foreach my $am (@methods)
{
	$_->safe_psql('postgres', "create table keyed_$am (id int primary key, n int) using $am; create table whole_$am (id int, n int) using $am; "
		. "alter table whole_$am replica identity full") foreach $from, $to;
	$from->safe_psql('postgres', "insert into ${_}_$am select g, 0 from generate_series(1, 20) g") foreach qw(keyed whole);
	$from->safe_psql('postgres', "create publication p_$am for table keyed_$am, whole_$am");
	$to->safe_psql('postgres', "create subscription s_$am connection '" . $from->connstr . " dbname=postgres application_name=s_$am' publication p_$am"
		. ($major >= 19 ? ' with (retain_dead_tuples = true)' : ''));
}
$to->wait_for_subscription_sync($from, "s_$_") foreach @methods;

sub conflicts { return $to->safe_psql('postgres', "select confl_$_[1] from pg_stat_subscription_stats where subname = 's_$_[0]'"); }

# Whether the subscriber's log has this after the given position.
sub logged
{
	my ($line, $log) = @_;

	return wait_until(sub { slurp_file($to->logfile, $log) =~ $line });
}

# The worker reports its counts when it is idle.
sub counted
{
	my ($am, $kind, $count) = @_;

	return wait_until(sub { conflicts($am, $kind) >= $count });
}

# As long as a snapshot may see the version before, zheap knows the transaction that made this one.
my $reader = session($to);
$reader->query_safe('begin isolation level repeatable read; select 1');

foreach my $am (@methods)
{
	foreach my $table ("keyed_$am", "whole_$am")
	{
		my $log = -s $to->logfile;
		my $value = $table =~ /^whole/ ? 0 : 1;		# the old row must still be found by its values
		my $xid = $to->safe_psql('postgres', "begin; update $table set n = $value where id = 1; select pg_current_xact_id(); commit");

		$from->safe_psql('postgres', "update $table set n = 2 where id = 1");
		$from->wait_for_catchup("s_$am");
		is($to->safe_psql('postgres', "select n from $table where id = 1"), '2', "$table: the publisher's update has been done");
		ok(logged(qr/conflict=update_origin_differs.*\n.*modified locally in transaction $xid at/, $log), "$table: and its conflict was reported");

		$log = -s $to->logfile;
		$xid = $to->safe_psql('postgres', "begin; update $table set n = 0 where id = 2; select pg_current_xact_id(); commit");
		$from->safe_psql('postgres', "delete from $table where id = 2");
		$from->wait_for_catchup("s_$am");
		ok(logged(qr/conflict=delete_origin_differs.*\n.*modified locally in transaction $xid at/, $log), "$table: and that of a deletion");

		# an earlier change by the worker itself is no conflict
		$from->safe_psql('postgres', "update $table set n = 3 where id = 1");
		$from->wait_for_catchup("s_$am");
	}
	ok(counted($am, 'update_origin_differs', 2), "$am: two were counted");
	is(conflicts($am, 'update_origin_differs'), '2', "$am: no more");

	# a key that exists already
	my $log = -s $to->logfile;
	my $xid = $to->safe_psql('postgres', "begin; insert into keyed_$am values (100, 0); select pg_current_xact_id(); commit");

	$from->safe_psql('postgres', "insert into keyed_$am values (100, 1)");
	ok(logged(qr/conflict=insert_exists(?:.*\n){1,2}.*modified locally in transaction $xid at/, $log), "$am: a key that is there");
	$to->safe_psql('postgres', "delete from keyed_$am where id = 100");
	$from->wait_for_catchup("s_$am");
}
$reader->quit;

# A row that is gone.
foreach my $am (@methods)
{
	foreach my $table ("keyed_$am", "whole_$am")
	{
		my $log = -s $to->logfile;
		# PostgreSQL 19 looks for a deleted row in heap tables, and may find it
		my $kind = $major >= 19 && $am eq 'heap' ? '(?:missing|deleted)' : 'missing';

		$to->safe_psql('postgres', "delete from $table where id between 5 and 8");
		$from->safe_psql('postgres', "update $table set n = 9 where id = 5");
		$from->wait_for_catchup("s_$am");
		ok(logged(qr/"public.$table": conflict=update_$kind/, $log), "$table: the update of a row that is gone");

		$from->safe_psql('postgres', "delete from $table where id = 6");
		$from->wait_for_catchup("s_$am");
		ok(logged(qr/"public.$table": conflict=delete_missing/, $log), "$table: the deletion of one");

		# a new index is not used for that search
		$to->safe_psql('postgres', "reindex table $table");
		$log = -s $to->logfile;
		$from->safe_psql('postgres', "update $table set n = 9 where id = 7");
		$from->wait_for_catchup("s_$am");
		ok(logged(qr/"public.$table": conflict=update_$kind/, $log), "$table: the same after REINDEX");
	}
	is($to->safe_psql('postgres', "select count(*) from keyed_$am"), '16', "$am: the rest is there");
}
no_crash_in_log($_, $_->name) foreach $from, $to;

$to->safe_psql('postgres', "drop subscription s_$_") foreach @methods;
$_->stop foreach $to, $from;
done_testing();
