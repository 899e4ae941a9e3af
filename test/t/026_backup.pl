# A base backup is taken under load, and recovery from it stops in the middle of the activity: rows are consistent there.
# What was in progress at that point is rolled back by the server that opens.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $points = short() ? 3 : 8;
my $node = new_server('source', [ 'max_wal_size = 1GB', 'shared_buffers = 16MB', 'zheap.undo_worker_naptime = 10ms' ],
	allows_streaming => 1, has_archiving => 1, extra => ['--data-checksums']);
$node->safe_psql('postgres', <<'SQL');
create table acc (id int primary key, n int, v text) using zheap;
create index acc_n on acc (n);
create table hist (id int, n int) using zheap;
create table mark (id int primary key, done int) using zheap;
create table long (id int primary key, v text) using zheap;
insert into acc select g, 0, 'v' || g from generate_series(1, 3000) g;
insert into long select g, 'before' from generate_series(1, 5000) g;
SQL
my $load = $node->basedir . '/load.sql';
append_to_file($load, <<'SQL');
\set a random(1, 1500)
\set b random(1501, 3000)
\set d random(-100, 100)
begin;
update acc set n = n + :d where id = :a;
update acc set n = n - :d where id = :b;
insert into hist values (:a, :d), (:b, - :d);
savepoint s;
insert into hist values (0, 1000000);
rollback to s;
commit;
begin; update acc set v = 'gone', n = n + 5000 where id = :a; delete from acc where id = :b; insert into hist values (0, 1000000); rollback;
SQL
my $consistent = 'select (select sum(n) from acc) = 0 and (select coalesce(sum(n), 0) from hist) = 0 and (select count(*) from acc) = 3000 '
  . "and not exists (select from acc where v = 'gone') and not exists "
  . '(select from acc left join (select id, sum(n) as n from hist group by id) h using (id) where acc.n <> coalesce(h.n, 0)) '
  . "and (select count(distinct v) from long) = 1 and (select count(*) from mark where done is distinct from id) = 0";

# the backup begins and ends while all goes on, a long transaction among it
my $run = pgbench_start($node, '-c', 4, '-j', 2, '-T', 3600, '-f', $load);
my $open = $node->background_psql('postgres');
$open->query_safe('begin');
$open->query_safe("update long set v = 'open' where id <= 2500");
$node->safe_psql('postgres', "begin; update long set v = 'in doubt' where id > 4900; prepare transaction 'p'");
usleep(300_000);
$node->backup('under_load');
$open->query_safe("update long set v = 'open' where id > 2500 and id <= 4900");

foreach my $point (1 .. $points)
{
	my $half = $node->background_psql('postgres');

	# one that is half done, one that is complete, one that comes too late
	$half->query_safe('begin');
	$half->query_safe("insert into mark select g, 0 from generate_series($point * 1000 + 1, $point * 1000 + 400) g; update mark set done = -1");
	$node->safe_psql('postgres', "insert into mark values ($point, $point)");
	$node->safe_psql('postgres', "select pg_create_restore_point('point_$point')");
	$half->query_safe('rollback');
	$half->quit;
	$node->safe_psql('postgres', "update mark set done = id where id = $point");
	usleep(400_000);
}
$open->query_safe('rollback');
$open->quit;
$node->safe_psql('postgres', "commit prepared 'p'; update long set v = 'after'");
my ($rc, $out, $err) = pgbench_stop($run);
is($rc, 0, 'load') or diag($err);
$node->safe_psql('postgres', "select pg_create_restore_point('end')");
my $final = join(' ', map { table_digest($node, $_) } qw(acc hist mark long));
my $walfile = $node->safe_psql('postgres', 'select pg_walfile_name(pg_switch_wal())');
ok($node->poll_query_until('postgres', "select last_archived_wal >= '$walfile' from pg_stat_archiver"), 'all is archived');
$node->stop;

foreach my $point (1 .. $points, 'end')
{
	my $name = $point eq 'end' ? 'end' : "point_$point";
	my $paused = $point eq '2';
	my $restored = PostgreSQL::Test::Cluster->new("restored_$name");

	$restored->init_from_backup($node, 'under_load', has_restoring => 1, standby => 0);
	$restored->append_conf('postgresql.conf', "recovery_target_name = '$name'\narchive_mode = off\nrecovery_target_action = "
		  . ($paused ? 'pause' : 'promote') . "\n");
	$restored->start;
	if ($paused)
	{
		ok($restored->poll_query_until('postgres', "select pg_get_wal_replay_pause_state() = 'paused'"), "$name: paused");
		is($restored->safe_psql('postgres', $consistent), 't', "$name: consistent while it is paused");
		$restored->safe_psql('postgres', 'select pg_wal_replay_resume()');
	}
	ok($restored->poll_query_until('postgres', 'select not pg_is_in_recovery()'), "$name: recovered");
	is($restored->safe_psql('postgres', $consistent), 't', "$name: consistent");
	if ($point eq 'end')
	{
		is(join(' ', map { table_digest($restored, $_) } qw(acc hist mark long)), $final, "$name: all rows");
	}
	else
	{
		is($restored->safe_psql('postgres', 'select count(*), max(id) from mark'), "$point|$point", "$name: what was committed by then, no more");
		is($restored->safe_psql('postgres', "set lock_timeout = '60s'; select count(*) from (select from long where id > 4890 for update skip locked) x"),
			'10', "$name: rows in doubt are locked");
		$restored->safe_psql('postgres', "rollback prepared 'p'");
	}
	wait_undone($restored, "$name: all is rolled back");
	is($restored->safe_psql('postgres', $consistent), 't', "$name: consistent after that");
	btrees_agree($restored, $name, qw(acc_pkey acc_n mark_pkey long_pkey));
	($rc, $out, $err) = pgbench_run($restored, '-c', 4, '-t', 100, '-f', $load);
	is($rc, 0, "$name: load goes on");
	is($restored->safe_psql('postgres', $consistent), 't', "$name: consistent to the end");
	$restored->stop;
	$restored->command_ok([ 'pg_checksums', '--check', '-D', $restored->data_dir ], "$name: checksums");
	no_crash_in_log($restored, $name);
}
no_crash_in_log($node, 'source');
done_testing();
