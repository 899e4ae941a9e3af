# Rolling back beside locks on tables: the view of holders names a table that somebody has locked, and who it is; a worker keeps nobody from a lock,
# and makes way for whoever takes the table's file away.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('table_locks', [ 'autovacuum = off', 'max_prepared_transactions = 5', 'zheap.undo_hold_warning = 1s' ]);

# the row of the view for a rollback, as soon as it names a table
sub blocked
{
	my ($expected, $what) = @_;

	ok($node->poll_query_until('postgres',
			"select coalesce(relation::text, '') || ' ' || coalesce(pid::text, '') || ' ' || coalesce(gid, '') from zheap.zheap_undo_holders where kind = 'rollback'",
			$expected), $what)
	  or diag($node->safe_psql('postgres', 'table zheap.zheap_undo_holders'));
	return;
}

# ---- a table that somebody keeps locked ----

$node->safe_psql('postgres', <<'SQL');
create table blocked (id int, n int) using zheap;
create table free (id int, n int) using zheap;
insert into blocked select g, 0 from generate_series(1, 3000) g;
insert into free select g, 0 from generate_series(1, 3000) g;
SQL
foreach my $mode ('access exclusive', 'exclusive', 'share')
{
	my $blocks = $mode eq 'access exclusive';
	my $writer = session($node);
	my $locker = session($node);

	$writer->query_safe('begin; update free set n = 1; savepoint s; update blocked set n = 1; rollback to s');
	$writer->query_safe($blocks ? 'alter table blocked set (fillfactor = 99)' : 'lock table blocked in row exclusive mode');
	$locker->query_safe('begin');
	begin_in($locker, "lock table blocked in $mode mode");
	ok($node->poll_query_until('postgres', "select count(*) = 1 from pg_locks where relation = 'blocked'::regclass and pid = $locker->{pid}"), 'the lock is asked for');
	$writer->query_safe('rollback');
	ended($locker) until !$locker->{running};
	if ($blocks)
	{
		blocked("blocked $locker->{pid} ", "$mode: table and process are named");
		is($node->safe_psql('postgres', "select relation = 'blocked'::regclass and pid = $locker->{pid} from zheap.zheap_undo_holders limit 1"),
			't', "$mode: first in the view");
		is($locker->query_safe("select relation, pid = pg_backend_pid() from zheap.zheap_undo_holders where kind = 'rollback'"), 'blocked|t', "$mode: in its own session, too");
		$locker->query_safe('commit');
		wait_undone($node, "$mode: afterwards all is rolled back");
	}
	else
	{
		wait_undone($node, "$mode: all is rolled back beside the lock");
		$locker->query_safe('commit');
	}
	is($node->safe_psql('postgres', "select count(*) from zheap.zheap_undo_holders where kind = 'rollback'"), '0', "$mode: nothing is left in the view");
	$_->quit foreach $writer, $locker;
}

# a prepared transaction; the undo of others is kept, and the log says why
my $log_start = -s $node->logfile;
my $writer = session($node);
my $locker = session($node);
$writer->query_safe('begin; update free set n = 1; savepoint s; update blocked set n = 1; rollback to s; alter table blocked set (fillfactor = 98)');
$locker->query_safe('begin');
begin_in($locker, 'lock table blocked');
ok($node->poll_query_until('postgres', "select count(*) = 1 from pg_locks where relation = 'blocked'::regclass and not granted"), 'the lock is asked for');
$writer->query_safe('rollback');
ended($locker) until !$locker->{running};
$locker->query_safe("prepare transaction 'the locker'");
blocked('blocked  the locker', 'a prepared transaction is named');
$locker->quit;
blocked('blocked  the locker', 'also without its session');
$writer->query_safe("update free set n = n + $_") foreach 1 .. 20;
ok($node->poll_query_until('postgres', 'select count(*) = 1 from zheap.zheap_undo_holders where kind = \'rollback\' and undo_bytes > 1000000'), 'undo is kept');
$node->wait_for_log(qr/kept back by changes of table "blocked" that are still to be rolled back when prepared transaction "the locker" unlocks the table/, $log_start);
$node->safe_psql('postgres', "rollback prepared 'the locker'");
wait_undone($node, 'afterwards all is rolled back');
is($node->safe_psql('postgres', 'select count(*), sum(n) from blocked'), '3000|0', 'as if nothing had happened');
$writer->quit;

# ---- locks while a worker is at work ----

make_tries($node);

sub make_tables
{
	$node->safe_psql('postgres', <<'SQL');
drop table if exists one, two;
create table one (id int primary key, n int, f text) using zheap;
create table two (id int, n int, f text) using zheap;
insert into one select g, 0, repeat('x', 100) from generate_series(1, 20000) g;
insert into two select g, 0, repeat('x', 100) from generate_series(1, 20000) g;
SQL
	return;
}

# both tables by turns
my $abort = 'begin; do $$ begin for i in 0 .. 199 loop update one set n = 1 where id between i * 100 + 1 and i * 100 + 100; '
  . 'update two set n = 1 where ctid >= format(\'(%s,0)\', i)::tid and ctid < format(\'(%s,0)\', i + 1)::tid; end loop; end $$; rollback';

make_tables();
my ($had, $refused) = (0, 0);
for (1 .. 100)
{
	my ($more_had, $more_refused) = split /\|/, $node->safe_psql('postgres', "$abort; select * from tries('zheap.zheap_undo_pending() > 0', 'one, two')");
	$had += $more_had;
	$refused += $more_refused;
	last if $had >= 100;
}
note("$had locks had, $refused refused");
cmp_ok($had, '>=', 100, 'locks on tables whose rows are being rolled back');
cmp_ok($refused, '<=', $had / 3, 'are to be had at once');
is($node->safe_psql('postgres', 'select sum(n) from one union all select sum(n) from two'), "0\n0", 'and all is rolled back');

# those who take the file away wait until the worker has left it
foreach my $statement ('drop table two', 'truncate two, one', 'begin; truncate two; rollback; select 1', 'vacuum full one', 'cluster one using one_pkey',
	'alter table one alter n type bigint', 'alter table one set unlogged', 'alter table one set access method heap',
	'delete from one where id > 10; vacuum one')
{
	my $sum = $statement =~ /^truncate/ ? '' : '0';

	make_tables();
	$node->safe_psql('postgres', "$abort; set lock_timeout = '10s'; $statement");
	wait_undone($node, "$statement: all is rolled back");
	is($node->safe_psql('postgres', 'select sum(n) from one'), $sum, "$statement: and right");
	$node->safe_psql('postgres', 'checkpoint');
}
btrees_agree($node, 'to the end', 'one_pkey');

# ---- VACUUM, which takes the end of a table away, waits for a sweep's page without keeping others from the table ----

SKIP:
{
	skip 'zheap_unit is not installed', 1 unless has_unit($node);

	$node->safe_psql('postgres', 'create extension zheap_unit; create table tail (id int) using zheap; '
		  . 'insert into tail select g from generate_series(1, 20000) g; delete from tail where id > 10');
	my $sweep = session($node);
	my $vacuum = session($node);
	my $size = $node->safe_psql('postgres', "select pg_relation_size('tail')");
	is($sweep->query_safe("begin; select zheap_unit_sweep_file('tail')"), 't', 'a sweep is at work on the file');
	begin_in($vacuum, 'vacuum tail');
	ok($node->poll_query_until('postgres', "select count(*) = 1 from pg_locks where pid = $vacuum->{pid} and not granted and locktype = 'object' and mode = 'ExclusiveLock'"),
		'VACUUM waits for it');
	is($node->safe_psql('postgres', "set lock_timeout = '10s'; update tail set id = id + 1; select count(*) from tail"), '10', 'the table is read and written meanwhile');
	$sweep->query_safe('commit');
	1 until ended($vacuum);
	cmp_ok($node->safe_psql('postgres', "select pg_relation_size('tail')"), '<', $size / 10, 'and truncated afterwards');
	is($node->safe_psql('postgres', 'select count(*) from tail'), '10', 'all rows are there');
	is($node->safe_psql('postgres', "select count(*) from pg_locks where pid = $vacuum->{pid}"), '0', 'no lock is left');
	$_->quit foreach $sweep, $vacuum;
}

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
