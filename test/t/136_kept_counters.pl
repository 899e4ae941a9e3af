# Counts of zheap_stat_tables over restarts, resets and drops.  Since PostgreSQL 18 they are in the server's cumulative statistics: kept
# over a clean restart, gone after a crash, reset by pg_stat_reset().  Before, they are gone after each restart.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'max_prepared_transactions = 5' ], allows_streaming => 1);
my $kind = $node->pg_version >= 18;

# Run in a session of its own, and wait until all sessions have reported their counts.
my @living;						# sessions
sub sql
{
	my ($sql, $database) = @_;
	my $answer = $node->safe_psql($database // 'postgres', $sql);

	counts_told($node, @living);
	return $answer;
}

sub updated
{
	my ($table, $server) = @_;

	return ($server // $node)->safe_psql('postgres', "select updated_in_place from zheap.zheap_stat_tables where relname = '$table'");
}

# The number of entries of that OID, or of all.
sub entries
{
	my ($oid, $server) = @_;

	return ($server // $node)->safe_psql('postgres', 'select count(*) from zheap.zheap_table_stats()' . ($oid ? " where relid = $oid" : ''));
}

sub make
{
	my ($table) = @_;

	return sql("create table $table (id int primary key, n int) using zheap; insert into $table select g, 0 from generate_series(1, 10) g; select '$table'::regclass::oid");
}

my $t = make('t');
is(entries($t), 0, 'nothing is counted of what makes a table');
sql('update t set n = n + 1');
is(updated('t'), 10, 'counted');

# ---- restarts ----

$node->restart;
is(updated('t'), $kind ? 10 : '', $kind ? 'kept over a clean restart' : 'gone with the server');
sql('update t set n = n + 1 where id <= 3');
is(updated('t'), $kind ? 13 : 3, 'and counted on');
sql('begin; update t set n = 0 where id = 1; rollback');
is(updated('t'), $kind ? 14 : 4, 'what is rolled back, too');
$node->stop('immediate');
$node->start;
is(entries(), 0, 'gone after a crash');

# ---- resets ----

sql('update t set n = n + 1');
sql('select pg_stat_reset_single_table_counters(\'t\'::regclass)');
is(updated('t'), 10, 'pg_stat_reset_single_table_counters() is for what the server itself counts');
sql('create database other');
sql('create extension zheap; select pg_stat_reset(); select zheap.zheap_stat_tables_reset()', 'other');
is(updated('t'), 10, 'another database is reset');
sql('select pg_stat_reset()');
is(updated('t'), $kind ? 0 : 10, 'pg_stat_reset() is ' . ($kind ? 'for all' : 'for what the server itself counts'));
sql('update t set n = n + 1 where id <= 2');
is(updated('t'), $kind ? 2 : 12, 'and counted on');
sql('select zheap.zheap_stat_tables_reset(\'t\'::regclass)');
is(updated('t'), 0, 'reset');
# counts that a session has not reported yet are added after the reset
my $session = session($node);
push @living, $session;
$session->query_safe('begin; update t set n = n + 1 where id <= 2');
is($session->query_safe("select updated_in_place from zheap.zheap_stat_tables where relname = 't'"), 2, 'a session sees at once what it has counted itself');
is(updated('t'), $kind ? 0 : 2, 'others when the transaction is over');
sql('select zheap.zheap_stat_tables_reset()');
$session->query_safe('commit');
counts_told($node, $session);
is(updated('t'), $kind ? 2 : 0, 'what is told after a reset');
$session->query_safe("begin; update t set n = n + 1; select zheap.zheap_stat_tables_reset('t'::regclass); commit");
counts_told($node, $session);
is(updated('t'), 0, 'a session resets what it has counted itself');

# ---- drops ----

sql('begin; create table never (id int) using zheap; insert into never values (1); update never set id = 2; rollback');
is(sql('select count(*) from zheap.zheap_table_stats() where not exists (select from pg_class where oid = relid)'), 0, 'no entry of a table that there never was');
my $d = make('d');
$node->safe_psql('postgres', 'update d set n = n + 1');
$session->query_safe('select n from d where id = 1 for update; update d set n = n + 1');
$session->query_safe('begin; drop table d; rollback; begin; savepoint a; drop table d; rollback to a; commit');
counts_told($node, $session);
is(updated('d'), 20, 'a drop that is rolled back');
$session->query_safe('update d set n = n + 1');
# not reported yet, or just reported
$node->safe_psql('postgres', 'drop table d');
is(entries($d), 0, 'an entry goes with its table');
counts_told($node, $session);
is(entries($d), 0, 'and does not come back with what a session has to tell');
$d = make('d');
sql('update d set n = n + 1');
$session->query_safe('begin; update d set n = n + 1; drop table d; commit');
counts_told($node, $session);
is(entries($d), 0, 'nor by the session that drops it');
$session->quit;
@living = ();

$d = make('d');
sql('update d set n = n + 1');
sql("begin; drop table d; prepare transaction 'd'");
is(entries($d), $kind ? 1 : 0, 'a prepared drop');
sql("rollback prepared 'd'");
is(entries($d), $kind ? 1 : 0, 'is rolled back');
sql("update d set n = n + 1; begin; drop table d; prepare transaction 'd'");
sql("commit prepared 'd'");
is(entries($d), 0, 'or committed');

# ---- databases ----

sql('create database model');
sql('create extension zheap; create table t (id int primary key, n int) using zheap; insert into t values (1, 1)', 'model');
foreach my $round (1, 2)
{
	sql('create database again oid = 50000 template model');
	is(sql('select count(*) from zheap.zheap_table_stats()', 'again'), 0, "a new database, $round");
	sql('update t set n = n + 1', 'again');
	is(sql('select updated_in_place from zheap.zheap_stat_tables', 'again'), 1, 'is counted');
	sql('drop database again');
}

# ---- a standby counts for itself, and replays drops ----

my $standby = new_standby($node, 'standby');
$d = make('d');
caught_up($node, $standby);
is($standby->safe_psql('postgres', 'select count(*) from d'), 10, 'a standby reads');
counts_told($standby);
my $copied = "select pages_copied from zheap.zheap_stat_tables where relname = 'd'";
is($standby->safe_psql('postgres', $copied), 1, 'and counts');
is(entries($d), 0, 'what the primary does not');
SKIP:
{
	skip 'before PostgreSQL 18 a standby is told of no drop, and keeps nothing', 2 unless $kind;
	$standby->restart;
	is($standby->safe_psql('postgres', $copied), 1, 'kept over a clean restart');
	sql('drop table d');
	caught_up($node, $standby);
	is(entries($d, $standby), 0, 'an entry goes with its table');
}

$standby->stop;

# ---- without the library ----

sql("drop database $_") foreach qw(other model);
sql('alter table t set access method heap; drop extension zheap cascade');
sql('create extension zheap');
is(entries(), 0, 'no entry is left of tables that have become heap tables');
sql('drop extension zheap');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
cmp_ok($node->safe_psql('postgres', "select n_tup_upd from pg_stat_user_tables where relname = 't'"), '>', 0, 'the server reads its statistics');
$node->stop;
unlike(slurp_file($node->logfile), qr/corrupted statistics file/, 'each time');
no_crash_in_log($node, 'to the end');
no_crash_in_log($standby, 'standby');
done_testing();
