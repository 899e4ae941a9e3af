# A standby whose reader needs undo that the primary recycles: cancelled as heap's cleanup would, and not with hot_standby_feedback.
# Pages are rolled back during its reads; it is killed in the middle of replay; it waits for the library if that is missing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use ZheapTest;

my $node = new_server('undo_primary', [ 'autovacuum = off', 'shared_buffers = 32MB', 'max_wal_size = 2GB', 'wal_keep_size = 2GB',
		'zheap.undo_worker_naptime = 20ms' ], allows_streaming => 1);
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, v text) using zheap;
insert into t select g, 0, repeat('v', 50) from generate_series(1, 8000) g;
create table h (id int primary key, n int, v text) using heap with (fillfactor = 50);
insert into h select g, 0, repeat('v', 50) from generate_series(1, 1000) g;
SQL
my $standby = new_standby($node, 'undo_standby', 'hot_standby_feedback = off', 'max_standby_streaming_delay = 0', 'shared_buffers = 16MB');
caught_up($node, $standby);

# This query may itself be in the way.
sub conflicts
{
	my ($rc, $out);

	wait_until(sub {
		($rc, $out) = $standby->psql('postgres', 'select confl_snapshot from pg_stat_database_conflicts where datname = current_database()');
		return $rc == 0;
	}) or die 'the standby does not answer';
	return $out;
}

sub same_rows
{
	my ($what) = @_;

	$node->safe_psql('postgres', 'select txid_current()');
	caught_up($node, $standby);
	is(table_digest($standby, 't'), table_digest($node, 't'), "$what: the same rows");
	return;
}

# where replay begins then
sub restartpoint
{
	$node->safe_psql('postgres', 'checkpoint');
	caught_up($node, $standby);
	$standby->safe_psql('postgres', 'checkpoint');
	return;
}

# Updates in place alone: nothing that VACUUM of a table would take away.
sub updates
{
	$node->safe_psql('postgres', 'update t set n = n + 1') foreach 1 .. 3;
	$node->safe_psql('postgres', 'select pg_current_xact_id()') foreach 1 .. 2;
	return;
}

# ---- nothing is recycled: no conflict, the old version comes from undo ----

set_and_reload($node, 'zheap.undo_workers = 0');
$node->safe_psql('postgres', 'vacuum zheap.undo');
caught_up($node, $standby);
my $before = conflicts();
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe('begin isolation level repeatable read');
my $look = 'select count(*), sum(n), min(n), max(n) from t';
my $seen = $reader->query_safe($look);
$node->safe_psql('postgres', 'update t set n = n + 1 where id <= 3000');
caught_up($node, $standby);
is($reader->query_safe($look), $seen, 'old versions come from undo');
is(conflicts(), $before, 'as long as undo is kept there is no conflict');

# ---- recycled: cancelled, with heap's SQLSTATE ----

updates();
$node->safe_psql('postgres', 'vacuum zheap.undo');
caught_up($node, $standby);
eval { $reader->query($look) };
like($reader->{stderr}, qr/terminating connection due to conflict with recovery/, 'a transaction that needs recycled undo is ended');
eval { $reader->quit };
# or more: what looks at the count may be in the way as well
ok(wait_until(sub { conflicts() > $before }), 'and counted as a conflict of snapshots');
same_rows('after the conflict');

# a statement, not an idle transaction: it gets an error; heap the same
foreach my $table (qw(h t))
{
	my $count = conflicts();
	my $busy = $standby->background_psql('postgres', on_error_stop => 0);

	$busy->query_safe('\set VERBOSITY verbose');
	$busy->query_until(qr/started/, "\\echo started\nselect count(*), sum(n), pg_sleep(600) from $table;\n");
	$standby->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity where wait_event = 'PgSleep'");
	if ($table eq 'h')
	{
		$node->safe_psql('postgres', 'update h set n = n + 1; select txid_current(); vacuum h');
	}
	else
	{
		updates();
		$node->safe_psql('postgres', 'vacuum zheap.undo');
	}
	caught_up($node, $standby);
	eval { $busy->query('select 1') };
	like($busy->{stderr}, qr/(ERROR|FATAL):  40001: canceling statement due to conflict with recovery/, "$table: a statement is cancelled, to be tried again");
	# its statistics are told when it ends
	eval { $busy->quit };
	ok($standby->poll_query_until('postgres', "select confl_snapshot > $count from pg_stat_database_conflicts where datname = current_database()"),
		"$table: and counted");
}

# workers and writers recycle, too, without any VACUUM
set_and_reload($node, 'zheap.undo_workers = 3');
$before = conflicts();
$reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe('begin isolation level repeatable read');
$reader->query_safe($look);
wait_until(sub { updates(); conflicts() ne $before });
caught_up($node, $standby);
eval { $reader->query($look) };
like($reader->{stderr}, qr/terminating connection due to conflict with recovery/, 'recycling by writers and workers raises it as well');
eval { $reader->quit };

# the delay is honoured: the reader reads on until it is over
set_and_reload($standby, 'max_standby_streaming_delay = 600s');
$reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe('begin isolation level repeatable read');
$seen = $reader->query_safe($look);
updates() foreach 1 .. 2;
$node->safe_psql('postgres', 'vacuum zheap.undo');
ok($standby->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity where backend_type = 'startup' and wait_event = 'RecoveryConflictSnapshot'"), 'replay waits for the reader');
is($reader->query_safe($look), $seen, 'who reads what it saw');
$reader->query_safe('commit');
same_rows('when it has ended');
$reader->quit;

# ---- with feedback ----

restartpoint();
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = 0\n");
$standby->restart;
caught_up($node, $standby);
$before = conflicts();
$reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe('begin isolation level repeatable read');
$seen = $reader->query_safe($look);
wait_for_feedback($node, $standby);
updates() foreach 1 .. 3;
$node->safe_psql('postgres', "begin; update t set n = -1, v = 'gone'; rollback; vacuum t; vacuum zheap.undo");
wait_undone($node, 'rolled back on the primary');
caught_up($node, $standby);
is($reader->query_safe($look), $seen, 'with feedback it reads what it saw');
is(conflicts(), $before, 'and there is no conflict');
$reader->query_safe('commit');
$reader->quit;

# ---- reads while pages are rolled back ----

# nobody is to be cancelled from here on
set_and_reload($standby, 'max_standby_streaming_delay = 600s', 'max_standby_archive_delay = 600s');

my $wrong = 0;
foreach my $round (1 .. (short() ? 2 : 6))
{
	my $right = $node->safe_psql('postgres', $look);

	caught_up($node, $standby);
	$node->safe_psql('postgres', "begin; update t set n = -1, v = 'gone'; delete from t where id % 3 = 0; insert into t select -g, -g, 'gone' from generate_series(1, 2000) g; rollback");
	my $until = time() + 1;
	while (time() < $until)
	{
		$wrong++ unless $standby->safe_psql('postgres', $look) eq $right;
		$wrong++ unless $standby->safe_psql('postgres', "set enable_seqscan = off; set enable_bitmapscan = off; select count(v), sum(n), min(n), max(n) from t where id > -100000") eq $right;
	}
}
is($wrong, 0, 'each read on the standby is right while pages are rolled back');
wait_undone($node, 'all is rolled back');
same_rows('after that');

# ---- the standby is killed in the middle of replay ----

restartpoint();

my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/load.sql", "\\set id random(1, 7000)\nupdate t set n = n + 1 where id between :id and :id + 20;\nbegin;\nupdate t set v = 'gone' where id between :id and :id + 200;\nrollback;\n");
my $load = pgbench_start($node, '-c', 4, '-R', 100, '-T', 3600, '-f', "$scripts/load.sql");
foreach my $round (1 .. (short() ? 2 : 5))
{
	usleep(1_000_000);
	$standby->safe_psql('postgres', 'checkpoint') if $round % 2;
	crash($standby);
	start_again($standby);
	is($standby->safe_psql('postgres', "select count(*), count(*) filter (where v = 'gone') from t"), '8000|0', "killed $round times: rows");
}
my ($rc, $out, $err) = pgbench_stop($load);
is($rc, 0, 'load') or diag($err);
same_rows('after the kills');

# ---- the library is missing ----

restartpoint();
$standby->stop('immediate');
$node->safe_psql('postgres', "update t set v = 'without' where id <= 10");
$standby->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
my $offset = -s $standby->logfile;
$standby->start(fail_ok => 1);
my $log;
wait_until(sub {
	$log = substr(slurp_file($standby->logfile), $offset);
	return $log =~ /FATAL:  resource manager/ && $log =~ /database system is shut down|aborting startup|startup process .* exited/;
});
like($log, qr/FATAL:  resource manager with ID 128 not registered\n.*HINT:  .*shared_preload_libraries/, 'a standby without the library stops with a hint');
$standby->append_conf('postgresql.conf', "shared_preload_libraries = 'zheap'\n");
$standby->{_pid} = undef;
$standby->start;
same_rows('with the library again');

# ---- promoted, it rolls back what was in progress ----

my $open = $node->background_psql('postgres', on_error_stop => 0);
$open->query_safe('begin');
$open->query_safe("update t set v = 'gone', n = -5; delete from t where id % 2 = 0");
$node->safe_psql('postgres', 'select txid_current()');
caught_up($node, $standby);
crash($node);
eval { $open->quit };
$standby->promote;
ok($standby->poll_query_until('postgres', 'select not pg_is_in_recovery()'), 'promoted');
is($standby->safe_psql('postgres', "select count(*), count(*) filter (where v = 'gone') from t"), '8000|0', 'rows at once');
wait_undone($standby, 'all is rolled back');
is($standby->safe_psql('postgres', "select count(*), count(*) filter (where v = 'gone') from t"), '8000|0', 'rows after that');
btrees_agree($standby, 'promoted', 't_pkey');
$standby->stop;
no_crash_in_log($standby, 'standby, to the end');
no_crash_in_log($node, 'primary, to the end');
done_testing();
