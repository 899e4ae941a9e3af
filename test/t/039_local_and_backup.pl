# A base backup taken while a large rollback is under way, recovered to points before, within and after it; rows are right at each.
# Temporary tables: undo in memory does not grow with a session's transactions; unlogged ones and what aborted work leaves of them at a crash.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = short() ? 30_000 : 150_000;
my $node = new_server('large', [ 'autovacuum = off', 'shared_buffers = 32MB', 'max_wal_size = 2GB', 'zheap.undo_workers = 0', 'full_page_writes = on' ],
	allows_streaming => 1, has_archiving => 1, extra => ['--data-checksums']);

# ---- backup and recovery ----

$node->safe_psql('postgres', <<"SQL");
create table big (id int primary key, n int, v text) using zheap;
create index big_n on big (n);
insert into big select g, g, repeat('v', 200) from generate_series(1, $rows) g;
create table mark (id int primary key) using zheap;
create unlogged table unl (id int primary key, n int) using zheap;
insert into unl select g, 0 from generate_series(1, 1000) g;
SQL
my $digest = table_digest($node, 'big');

sub point
{
	my ($name) = @_;

	$node->safe_psql('postgres', "insert into mark select coalesce(max(id), 0) + 1 from mark");
	$node->safe_psql('postgres', "select pg_create_restore_point('$name')");
	return;
}

# the backup begins in the middle of the update and ends after its rollback
my $open = $node->background_psql('postgres');
$open->query_safe('begin');
$open->query_safe("update big set v = 'gone' || v, n = -n where id <= $rows / 2");
$node->backup('in_the_middle');
$open->query_safe("delete from big where id > $rows / 2; insert into big select -g, g, 'gone' from generate_series(1, 5000) g; update unl set n = -1");
point('updated');
$open->query_safe('rollback');
point('rolled_back');
$node->append_conf('postgresql.conf', 'zheap.undo_workers = 3');
$node->reload;
# or over already, where the machine is quick
ok($node->poll_query_until('postgres', "select count(*) > 0 or zheap.zheap_undo_pending() = 0 from zheap.zheap_stat_workers where state = 'rolling back' and pages_rolled_back > 10"), 'the revert is under way');
$node->backup('in_the_revert') if !short();
point('reverting');
wait_undone($node, 'it comes to its end');
point('reverted');
is(table_digest($node, 'big'), $digest, 'all rows');
$node->safe_psql('postgres', 'select pg_switch_wal()');
my $last = $node->safe_psql('postgres', 'select pg_walfile_name(pg_current_wal_lsn())');
$node->safe_psql('postgres', 'insert into mark values (100); select pg_switch_wal()');
$node->poll_query_until('postgres', "select last_archived_wal >= '$last' from pg_stat_archiver") or die;

my $marks = 0;
my @points = map { [ 'in_the_middle', $_, ++$marks ] } qw(updated rolled_back reverting reverted);
push @points, [ 'in_the_revert', 'reverting', 3 ], [ 'in_the_revert', 'reverted', 4 ] if !short();
foreach my $recovery (@points)
{
	my ($backup, $point, $expected) = @$recovery;
	my $what = "backup $backup, $point";
	my $restored = PostgreSQL::Test::Cluster->new("${backup}_$point");

	$restored->init_from_backup($node, $backup, has_restoring => 1, standby => 0);
	$restored->append_conf('postgresql.conf', "recovery_target_name = '$point'\nrecovery_target_action = promote\narchive_mode = off\nzheap.undo_workers = 3\n");
	$restored->start;
	ok($restored->poll_query_until('postgres', 'select not pg_is_in_recovery()'), "$what: recovered");
	is(table_digest($restored, 'big'), $digest, "$what: all rows at once");
	is($restored->safe_psql('postgres', 'select max(id) from mark'), $expected, "$what: the right point");
	is($restored->safe_psql('postgres', 'select count(*) from unl'), '0', "$what: unlogged tables are empty");
	wait_undone($restored, "$what: rolled back");
	is(table_digest($restored, 'big'), $digest, "$what: all rows after that");
	btrees_agree($restored, $what, qw(big_pkey big_n));
	$restored->stop;
	$restored->command_ok([ 'pg_checksums', '--check', '-D', $restored->data_dir ], "$what: checksums");
	no_crash_in_log($restored, $what);
	$restored->clean_node;
}

# ---- temporary tables ----

my $session = $node->background_psql('postgres');
$session->query_safe(<<'SQL');
set temp_buffers = '800kB';
create temp table t (id int primary key, n int, v text) using zheap;
insert into t select g, 0, repeat('v', 100) from generate_series(1, 2000) g;
create temp table kept (id int) using zheap on commit preserve rows;
create temp table emptied (id int) using zheap on commit delete rows;
SQL
sub turn
{
	my ($how, $times) = @_;

	$session->query_safe("begin; update t set v = upper(v); savepoint a; update t set v = 'gone'; delete from t where id % 2 = 0; rollback to a; "
		  . "update t set v = lower(v); insert into emptied values (1); insert into kept values (1); $how") foreach 1 .. $times;
	return;
}
my $memory = "select sum(total_bytes) from pg_backend_memory_contexts where name like 'zheap%'";
turn('commit', 3);
turn('rollback', 3);
my $before = $session->query_safe($memory);
my $undo = undo_size($node);
my $size = $session->query_safe("select pg_relation_size('t')");
turn('commit', 30);
turn('rollback', 30);
my $after = $session->query_safe($memory);
cmp_ok($after, '<', $before + 100_000, "memory of a session does not grow with its transactions: $before, $after");
is(undo_size($node), $undo, 'nor does the undo relation');
is($session->query_safe("select pg_relation_size('t')"), $size, 'nor the table');
is($session->query_safe("select count(*), sum(n), count(*) filter (where v <> repeat('v', 100)) from t"), '2000|0|0', 'rows of the temporary table');
is($session->query_safe('select (select count(*) from kept), (select count(*) from emptied)'), '33|0', 'ON COMMIT');
# a large transaction's undo is given back to the system, not kept for the next one
$session->query_safe("begin; insert into t select g, 0, repeat('v', 100) from generate_series(2001, 30000) g; update t set v = repeat('w', 100); delete from t where id > 2000; rollback; select count(*) from t");
cmp_ok($session->query_safe($memory), '<', $after + 100_000, 'memory of a large transaction is given back');
# the session ends in the middle, by itself, by signal
$session->query_safe("begin; update t set v = 'gone'; savepoint a; delete from t");
my $pid = $session->query_safe('select pg_backend_pid()');
$node->safe_psql('postgres', "select pg_terminate_backend($pid, 10000)");
eval { $session->quit };
foreach my $end ('commit', 'rollback', 'nothing')
{
	my ($rc, $out, $err) = $node->psql('postgres', "create temp table t (id int primary key, v text) using zheap; insert into t select g, 'v' from generate_series(1, 5000) g; begin; update t set v = 'x'; savepoint a; delete from t where id % 2 = 0; rollback to a; "
		  . ($end eq 'nothing' ? '' : "$end;") . ' select count(*) from t');
	is("$rc $out", '0 5000', "a session that ends after $end");
}
is($node->safe_psql('postgres', "select count(*) from pg_class where relnamespace in (select oid from pg_namespace where nspname like 'pg_temp%') and relname in ('t', 'kept')"), '0', 'no temporary table is left');
unlike(slurp_file($node->logfile), qr/WARNING|ERROR:  (?!recovery)/, 'without warnings');

# ---- unlogged tables: a large rollback pending at a crash and at a clean end ----

foreach my $how ('fast', 'crash')
{
	set_and_reload($node, 'zheap.undo_workers = 0');
	$node->safe_psql('postgres', "truncate unl; insert into unl select g, 0 from generate_series(1, 20000) g; begin; update unl set n = -1; delete from unl where id % 2 = 0; insert into unl select -g, -1 from generate_series(1, 20000) g; rollback; begin; update big set n = n where id <= 100; update unl set n = -1; rollback");
	$node->append_conf('postgresql.conf', 'zheap.undo_workers = 3');
	if ($how eq 'crash')
	{
		crash($node);
		start_again($node);
	}
	else
	{
		$node->restart;
	}
	my $right = $how eq 'crash' ? '0|' : '20000|0';
	is($node->safe_psql('postgres', 'select count(*), sum(n) from unl'), $right, "$how: rows of the unlogged table");
	wait_undone($node, "$how: rolled back");
	is($node->safe_psql('postgres', 'select count(*), sum(n) from unl'), $right, "$how: rows of the unlogged table after that");
	is(table_digest($node, 'big'), $digest, "$how: and of the logged one");
	btrees_agree($node, $how, qw(unl_pkey big_pkey));
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
