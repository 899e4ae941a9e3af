# Entries of rows with several keys that a scan has marked as dead are deleted with a conflict for the snapshots of a standby that still need
# them, though the server's horizon has gone back since: a snapshot was taken beside an old transaction in another database.  A snapshot that
# does not need them is left in peace: the row was deleted later, for another reason than the mark.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.max_changed_indexes = 100' ], allows_streaming => 1);
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = -1', 'hot_standby_feedback = off', 'wal_retrieve_retry_interval = 100ms');
my $by_index = 'set enable_seqscan = off; set enable_bitmapscan = off';

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql('create extension pageinspect; create table o (x int)');
sql('create database other');

# What one row is: columns and index, its first values, an update that gives it the mark, one that takes its key, and the query by that key.
my %kinds = (
	columns => [ '(k)', '', 'k = 5000', 'k = 5001', 'k = 5000', 'k = 5002' ],
	predicate => [ '(k)', "where state = 'pending'", "k = 5000, state = 'pending'", "k = 5001", "k = 5000", "state = 'done'" ],
	expression => [ '((k + 1))', '', 'k = 5000', 'k = 5001', 'k = 5000', 'k = 5002' ]);

# Make the table; row 1 has the key 5000 again, and the mark.
sub make
{
	my ($kind) = @_;
	my ($index, $predicate, $first, $mark, $back) = @{ $kinds{$kind} };

	sql(qq{drop table if exists t; create table t (id int, k int, state text) using zheap; create index t_k on t $index $predicate;
		insert into t select g, g * 1000, 'pending' from generate_series(2, 200) g; insert into t values (1, 5000, 'pending')});
	sql("update t set $mark where id = 1");
	sql("update t set $back where id = 1");
	is(sql("select flags from zheap.zheap_page_items('t', 0) where flags::text ~ 'several'") =~ /several/, 1, "$kind: the row has several keys");
	return;
}

sub marked
{
	return sql('select count(*) from generate_series(1, pg_relation_size(\'t_k\') / 8192 - 1) b, bt_page_stats(\'t_k\', b::int) s, '
		. "bt_page_items('t_k', b::int) i where s.type = 'l' and i.dead");
}

sub query
{
	my ($kind) = @_;
	my %where = (columns => 'k = 5000', predicate => "k = 5000 and state = 'pending'", expression => 'k + 1 = 5001');

	return "select id from t where id = 1 and $where{$kind}";
}

# A reader on the standby.
sub reader
{
	my $session = session($standby);

	caught_up($node, $standby);
	$session->query_safe("$by_index; begin isolation level repeatable read; select count(*) from o");
	return $session;
}

# A session that knows, from before its snapshot, a horizon beyond the other database's transaction marks what it finds dead.
sub mark
{
	my ($kind) = @_;
	my $before = marked();
	my $session = session($node);

	# the server computes its horizons in VACUUM, which is no snapshot for them
	$session->query_safe("vacuum o; $by_index");
	is($session->query_safe(query($kind)), '', "$kind: the row is not found");
	$session->quit;
	cmp_ok(marked(), '>', $before, "$kind: its entry is marked");
	return;
}

# Fill the leaf, by a session that knows no other horizon than that of its snapshot.
sub fill
{
	sql("insert into t select g, 4000 + g, 'pending' from generate_series(2000, 2600) g");
	is(marked(), '0', 'no marked entry is left');
	return;
}

# Whether replay waits for the standby's snapshot; false when it is at the end.
sub waits
{
	my $lsn = $node->lsn('insert');
	my $waiting = "select count(*) from pg_stat_activity where backend_type = 'startup' and wait_event = 'RecoveryConflictSnapshot'";
	my $waits;

	sql('select txid_current()');		# so that there is something to flush
	wait_until(sub {
		$waits = $standby->safe_psql('postgres', $waiting);
		return $waits || $standby->safe_psql('postgres', "select pg_last_wal_replay_lsn() >= '$lsn'::pg_lsn") eq 't';
	}) or die 'replay neither ends nor waits';
	return $waits;
}

foreach my $kind (sort keys %kinds)
{
	my $reader;

	foreach my $how ('deleted', 'replaced', 'deleted before a restart')
	{
		make($kind);
		$reader = reader();
		$node->safe_psql('other', "begin; select txid_current(); prepare transaction 'old'");
		sql($how ne 'replaced' ? 'delete from t where id = 1' : "update t set $kinds{$kind}[5] where id = 1");
		mark($kind);
		$node->restart if $how =~ /restart/;
		fill();
		is(waits(), 1, "$kind, $how: there is a conflict");
		is($reader->query_safe(query($kind)), '1', "$kind, $how: the standby finds the row");
		$reader->quit;
		$node->safe_psql('other', "rollback prepared 'old'");
		caught_up($node, $standby);
		is($standby->safe_psql('postgres', "$by_index; " . query($kind)), '', "$kind, $how: a new snapshot does not");
	}

	# the reader sees that the key is gone, but not what happens to the row later; many changes are more than a writer reads
	foreach my $changes (1, 400)
	{
		make($kind);
		sql("update t set $kinds{$kind}[5] where id = 1");
		mark($kind);
		$reader = reader();
		$node->safe_psql('other', "begin; select txid_current(); prepare transaction 'old'");
		sql("do 'begin for i in 1..$changes loop update t set id = 1 where id = 1; end loop; end'");
		sql('delete from t where id = 1') if $changes == 1;
		fill();
		is(waits(), 0, "$kind: no conflict with what came after the mark, $changes changes");
		is($reader->query_safe("set enable_indexscan = off; set enable_seqscan = on; select count(*) from t where id = 1"), '1', "$kind: the standby sees the row");
		$reader->quit;
		$node->safe_psql('other', "rollback prepared 'old'");
	}
}

is(sql(q{select count(*) from zheap.zheap_verify('t')}), '0', 'verified');
no_crash_in_log($_, 'to the end') foreach $node, $standby;
done_testing();
