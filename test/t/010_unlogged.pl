# Unlogged tables are empty after a crash and whole after a clean restart, whatever undo is left of them; changes of persistence.
# Then wal_level = minimal: tables filled in the transaction that made them, subtransactions rolled back in it, crash after commit.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('unlogged', [ 'shared_buffers = 1MB', 'temp_buffers = 800kB', 'autovacuum = off' ]);
my $rows = 5000;

sub totals
{
	my ($table) = @_;
	my @found;

	foreach my $off ('seqscan', 'indexscan')
	{
		push @found, $node->safe_psql('postgres',
			"set enable_$off = off; set enable_bitmapscan = off; select count(*), count(n), sum(n) from $table where id between -1000000 and 1000000");
	}
	is($found[0], $found[1], "index and scan of $table agree");
	return $found[0];
}

# a session that has begun something and is still at it
sub busy
{
	my @statements = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe($_) foreach ('begin', @statements);
	return $session;
}

sub gone
{
	my ($session) = @_;

	eval { $session->quit };
	return;
}

$node->safe_psql('postgres', <<"SQL");
create unlogged table u (id int primary key, n int, v text) using zheap;
create table l (id int primary key, n int, v text) using zheap;
insert into u select g, g, repeat('v', g % 100) from generate_series(1, $rows) g;
insert into l select * from u;
SQL
my $right = totals('l');
is(totals('u'), $right, 'filled');

# clean restart, with aborted changes that nobody may have rolled back yet
$node->safe_psql('postgres', "begin; update u set n = -1, v = 'undone'; delete from u where id % 2 = 0; rollback");
$node->restart;
is(totals('u'), $right, 'whole after a clean restart');
my $session = busy('update u set n = -1', "savepoint a; delete from u where id < 100");
$node->stop('fast');
gone($session);
$node->start;
is(totals('u'), $right, 'whole after a clean restart that broke a transaction off');
wait_undone($node, 'nothing is left to be rolled back');
is(totals('u'), $right, 'and after it was rolled back');

# crash with a transaction in progress on both
$session = busy("update u set n = -1, v = 'undone'", "update l set n = -1, v = 'undone'",
	"insert into u select g, -1, 'undone' from generate_series($rows + 1, 2 * $rows) g");
$node->safe_psql('postgres', "begin; savepoint a; update u set v = 'x' where id < 0; rollback to a; commit; checkpoint");
crash($node);
gone($session);
start_again($node);
# the first pages are in use again before anybody has looked at old undo
$node->safe_psql('postgres', "insert into u select g, g, 'new' from generate_series(1, 300) g; update u set n = n + 1");
is(totals('u'), '300|300|45450', 'an unlogged table begins anew after a crash');
is(totals('l'), $right, 'a logged one has its rows');
wait_undone($node, 'undo of lost pages is done with');
is(totals('u'), '300|300|45450', 'and does no harm');
is(totals('l'), $right, 'nor to the other');
$node->safe_psql('postgres', "begin; update u set n = 0; rollback; begin; delete from l; savepoint a; update u set n = 0; rollback");
crash($node);
start_again($node);
is(totals('u'), '0|0|', 'empty again');
wait_undone($node, 'done again');
is(totals('l'), $right, 'logged as before');

# changes of persistence
$node->safe_psql('postgres', "insert into u select * from l; begin; update u set n = -1; rollback; alter table u set logged");
crash($node);
start_again($node);
is(totals('u'), $right, 'set logged: there after a crash');
$node->safe_psql('postgres', "begin; savepoint a; update l set n = -1; rollback to a; alter table l set unlogged; commit");
is(totals('l'), $right, 'set unlogged: the same rows');
$node->restart;
is(totals('l'), $right, 'set unlogged: the same rows after a restart');
$session = busy("alter table u set unlogged", "update u set n = -1");
# not crash(): a backend that notices the postmaster's death aborts, and removes the init fork, but not the
# main one, before its abort is in the WAL; then recovery fails, with heap as well
$node->stop('immediate');
gone($session);
start_again($node);
is(totals('l'), '0|0|', 'set unlogged: empty after a crash');
is(totals('u'), $right, 'a change that did not come to commit');
wait_undone($node, 'done with changes of persistence');

# temporary tables of sessions that died
$session = busy("create temp table t (id int primary key, n int, v text) using zheap; insert into t select * from u; update t set n = n + 1",
	"savepoint a; update t set n = -1; rollback to a");
crash($node);
gone($session);
start_again($node);
is( $node->safe_psql('postgres', <<'SQL'), "$rows|$rows", 'temporary tables after a crash');
create temp table t (id int primary key, n int, v text) using zheap;
insert into t select * from u;
begin; update t set n = -1, v = repeat('longer', 20); rollback;
begin; savepoint a; update t set n = -1, v = repeat('longer', 20); rollback to a; update t set n = 1; commit;
begin; delete from t; rollback;
select count(*), sum(n) from t;
SQL

# new tables and new files are not logged but synced, or logged as a whole
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
foreach my $threshold ('0', '1GB')
{
	my $fill = <<"SQL";
insert into m select g, g, repeat('v', g % 100) from generate_series(1, $rows) g;
savepoint a;
update m set n = -1, v = repeat('undone', 30);
delete from m where id % 2 = 0;
rollback to a;
update m set n = n + 1 where id <= 10;
savepoint b;
update m set id = id + 100000 where id <= 100;
insert into m select -g, -1, 'undone' from generate_series(1, 1000) g;
rollback to b;
SQL
	my ($count, $n, $sum) = split /\|/, $right;
	my $filled = "$count|$n|" . ($sum + 10);

	$node->append_conf('postgresql.conf', "wal_skip_threshold = '$threshold'\n");
	$node->reload;
	$node->safe_psql('postgres', "begin; create table m (id int primary key, n int, v text) using zheap; $fill commit");
	crash($node);
	start_again($node);
	is(totals('m'), $filled, "wal_skip_threshold $threshold: new table after a crash");
	wait_undone($node, "wal_skip_threshold $threshold: done");
	is(totals('m'), $filled, "wal_skip_threshold $threshold: and once more");
	$node->safe_psql('postgres', "begin; truncate m; $fill commit; begin; update m set n = 0 where id < 1000; rollback");
	crash($node);
	start_again($node);
	is(totals('m'), $filled, "wal_skip_threshold $threshold: new file after a crash");
	$session = busy('truncate m', split(/(?<=;)\n/, $fill));
	crash($node);
	gone($session);
	start_again($node);
	is(totals('m'), $filled, "wal_skip_threshold $threshold: new file that did not come to commit");
	wait_undone($node, "wal_skip_threshold $threshold: done at the end");
	is(totals('m'), $filled, "wal_skip_threshold $threshold: the same");
	btrees_agree($node, "wal_skip_threshold $threshold", 'm_pkey');
	$node->safe_psql('postgres', 'drop table m');
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
