# Transaction ids near 2^31 and 2^32 and beyond: rows from before keep their state though the commit log is truncated.
# pg_resetwal moves the counter of a scratch cluster; each boundary is crossed under load, with undo that is older.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

use constant XIDS_PER_CLOG_SEGMENT => 8192 * 4 * 32;
use constant XIDS_PER_CLOG_PAGE => 8192 * 4;

my $node = new_server('wrap', [ 'max_worker_processes = 0', 'autovacuum = off', 'autovacuum_naptime = 1s',
		'autovacuum_freeze_max_age = 2000000000', 'max_wal_senders = 5', 'max_wal_size = 1GB' ],
	allows_streaming => 1);
my $load = $node->basedir . '/load.sql';
append_to_file($load, <<'SQL');
\set id random(1, 1000)
update hot set n = n + 1 where id = :id;
begin; update hot set n = n + 1000000 where id between :id and :id + 3; savepoint s; delete from hot where id = :id; rollback;
begin; savepoint s; update hot set v = 'gone' where id = :id; rollback to s; insert into history values (:id); commit;
SQL

# Stop, go on with that xid, start, or run that instead of starting.
sub jump
{
	my ($epoch, $xid, $instead) = @_;
	my $clog = sprintf('%s/pg_xact/%04X', $node->data_dir, $xid / XIDS_PER_CLOG_SEGMENT);
	my $need = (int(($xid % XIDS_PER_CLOG_SEGMENT) / XIDS_PER_CLOG_PAGE) + 1) * 8192;
	my $have = -s $clog // 0;

	$node->stop;
	$node->command_ok([ 'pg_resetwal', '-e', $epoch, '-x', $xid, $node->data_dir ], "xid $xid of epoch $epoch");
	append_to_file($clog, "\0" x ($need - $have)) if $have < $need;
	$instead ? $instead->() : $node->start;
	return;
}

# Freeze all that has 32-bit xids, the undo relation with it; zheap tables are left alone.
sub freeze
{
	my ($what) = @_;
	my $clog = join(' ', sort map { s/.*\///r } glob($node->data_dir . '/pg_xact/*'));

	foreach my $db (qw(template0 template1 other postgres))
	{
		$node->safe_psql('postgres', "update pg_database set datallowconn = true where datname = '$db'");
		$node->safe_psql($db, <<'SQL');
vacuum freeze pg_class;
select format('vacuum freeze %s', c.oid::regclass) from pg_class c left join pg_am a on a.oid = relam
 where relkind in ('r', 'm', 't') and amname <> 'zheap' \gexec
SQL
	}
	# what was rolled back holds the horizon until newer snapshots are all there is, the standby's included
	wait_until(sub {
		$node->safe_psql('postgres', 'select pg_current_xact_id()') for 1 .. 2;
		$node->safe_psql($_, 'vacuum zheap.undo') foreach qw(other postgres);
		return $node->safe_psql('postgres', 'select max(age(datfrozenxid)) < 100000 from pg_database') eq 't';
	});
	$node->safe_psql('postgres', 'checkpoint');
	is($node->safe_psql('postgres', 'select max(age(datfrozenxid)) < 100000 from pg_database'), 't', "$what: no database holds old xids")
	  or diag($node->safe_psql('postgres', 'select datname, datfrozenxid, age(datfrozenxid) from pg_database'),
		"\n", $node->safe_psql('postgres', "select oid::regclass, relfrozenxid, age(relfrozenxid), relminmxid from pg_class where relkind in ('r', 'm', 't') and relfrozenxid <> '0' order by 3 desc limit 5"),
		"\n", $node->safe_psql('postgres', 'select * from zheap.zheap_undo_stats()'));
	my $now = join(' ', sort map { s/.*\///r } glob($node->data_dir . '/pg_xact/*'));
	isnt($now, $clog, "$what: the commit log was truncated ($clog, now $now)");
	return;
}

my @tables = qw(old hot history aborted locked);

sub digests
{
	my ($server) = @_;

	return join("\n", map { "$_: " . table_digest($server, $_) } @tables) . "\nother: " . table_digest($server, 'o', 'other');
}

# Rows of this moment in every state; what aborted stays pending.
sub leave_rows
{
	my ($stage) = @_;

	$node->safe_psql('postgres', <<SQL);
insert into old select g, 'row of stage $stage' from generate_series($stage * 1000 + 1, $stage * 1000 + 500) g;
update old set v = v || ', changed in stage $stage' where id % 10 = 1;
delete from old where id % 1000 = $stage * 7 + 1;
begin; update old set v = 'gone' where id % 2 = 0; rollback;
begin; insert into aborted select g, 'gone' from generate_series(1001, 1300) g; update aborted set v = 'gone'; rollback;
begin; update aborted set v = 'committed in stage $stage' where id = $stage; savepoint s; delete from aborted; rollback to s; commit;
begin; select count(*) from (select from locked for update) x; rollback;
begin; select count(*) from (select from locked for key share) x; commit;
SQL
	$node->safe_psql('other', "insert into o values ($stage); begin; update o set i = -i; rollback");
	return;
}

sub unchanged
{
	my ($expected, $what) = @_;

	is(digests($node), $expected, "$what: all rows");
	is($node->safe_psql('postgres', "select count(*) from old where v = 'gone'"), '0', "$what: nothing aborted");
	btrees_agree($node, $what, qw(old_pkey hot_pkey locked_pkey));
	return;
}

# Use up xids until the counter has passed the boundary.
sub cross
{
	my ($what, $boundary) = @_;

	$node->safe_psql('postgres', "begin; update old set v = v || ', prepared' where id <= 5; prepare transaction 'across'");
	my $old = $node->background_psql('postgres');
	$old->query_safe('begin isolation level repeatable read');
	my $then = $old->query_safe('select count(*), sum(n), min(v), max(v) from hot');
	my ($rc, $out, $err) = pgbench_run($node, '-c', 4, '-t', 250, '-f', $load);
	is($rc, 0, "$what: load") or diag($err);
	is($node->safe_psql('postgres', "select pg_current_xact_id() > '$boundary'"), 't', "$what: boundary is passed");
	is($old->query_safe('select count(*), sum(n), min(v), max(v) from hot'), $then, "$what: an old snapshot sees the old rows");
	$old->query_safe('commit');
	$old->quit;
	is($node->safe_psql('postgres', "select count(*) from hot where v = 'gone' or n >= 1000000"), '0', "$what: nothing aborted is seen");
	is($node->safe_psql('postgres', "select count(*) from old where v like '%prepared'"), '0', "$what: nor what is prepared");
	my $before = digests($node);
	crash($node);
	start_again($node);
	is(digests($node), $before, "$what: the same after a crash");
	is($node->safe_psql('postgres', "set lock_timeout = '60s'; select count(*) from (select from old where id <= 10 for update skip locked) x"),
		4, "$what: rows of the prepared transaction are locked");
	$node->safe_psql('postgres', "commit prepared 'across'");
	is($node->safe_psql('postgres', "select count(*) from old where v like '%prepared'"), '5', "$what: it is committed");
	$node->safe_psql('postgres', "update old set v = replace(v, ', prepared', '') where id <= 5");
	return;
}

$node->safe_psql('postgres', <<'SQL');
create database other;
create table old (id int primary key, v text) using zheap;
create table hot (id int primary key, n int, v text) using zheap;
create table history (id int) using zheap;
create table aborted (id int primary key, v text) using zheap;
create table locked (id int primary key, v text) using zheap;
insert into old select g, 'first' from generate_series(1, 1000) g;
insert into hot select g, 0, 'hot' from generate_series(1, 1000) g;
insert into aborted select g, 'first' from generate_series(1, 300) g;
insert into locked select g, 'first' from generate_series(1, 300) g;
SQL
$node->safe_psql('other', 'create extension zheap; create table o (i int) using zheap; insert into o values (0)');
leave_rows(1);
my $expected = digests($node);

# old undo is read as it was, then goes
jump(0, 1_000_000_000);
unchanged($expected, 'a thousand million later, undo pending');
freeze('frozen');
unchanged($expected, 'and all frozen');
leave_rows(2);

jump(0, 2**31 - 2000);
cross('2^31', 2**31);
leave_rows(3);
$expected = digests($node);
unchanged($expected, 'past 2^31');
freeze('past 2^31');
unchanged($expected, 'past 2^31, frozen');

jump(0, 3_200_000_000);
unchanged($expected, 'past 3,000,000,000');
leave_rows(4);
freeze('past 3,000,000,000');
$expected = digests($node);

# over the end of 32 bits, with a standby
jump(0, 2**32 - 2000);
unchanged($expected, 'just before 2^32');
my $standby = new_standby($node, 'standby', 'hot_standby_feedback = on');
cross('2^32', 2**32);
leave_rows(5);
$expected = digests($node);
unchanged($expected, 'past 2^32');
caught_up($node, $standby);
is(digests($standby), $expected, 'the standby has the same rows');
# its feedback may not hold anything back
ok($node->poll_query_until('postgres', "select backend_xmin::text::bigint < 1000000000 from pg_stat_replication"), 'feedback in the new round');
freeze('past 2^32');
$node->safe_psql('postgres', 'vacuum');
caught_up($node, $standby);
is(digests($standby), $expected, 'also once all is frozen');
unchanged($expected, 'past 2^32, frozen');
$standby->stop;

# rows whose xid has come around
jump(1, 1_500_000_000);
unchanged($expected, 'in the second round');
leave_rows(6);
$expected = digests($node);

# autovacuum finds what is old by itself, undo of transactions that nobody else rolls back included
jump(1, 2**31 - 200_000_000);
unchanged($expected, 'long after that');
$node->append_conf('postgresql.conf', "autovacuum_freeze_max_age = 100000\nautovacuum_vacuum_cost_delay = 0\n");
$node->restart;
# what was rolled back is held until xids have gone by
ok(wait_until(sub { $node->safe_psql('postgres', 'select pg_current_xact_id(); select max(age(datfrozenxid)) < 100000 from pg_database') =~ /\nt$/ }),
	'autovacuum has frozen all databases');
is(digests($node), $expected, 'all rows after that');

# The server refuses new xids, with undo pending: reading goes on, and VACUUM is the way out, as for heap.
my $epoch = 1;
sub to_the_limit
{
	my ($instead) = @_;
	my $xid = $node->safe_psql('postgres', 'select (min(datfrozenxid::text::bigint) + 2^31 - 2500000)::bigint from pg_database');

	$expected = digests($node);
	$epoch++ if $xid >= 2**32;
	jump($epoch, $xid % 2**32, $instead);
	return;
}

sub freed
{
	my ($what) = @_;

	is($node->psql('postgres', "update old set v = v where id = 2"), 0, "$what: xids are assigned again");
	is(digests($node), $expected, "$what: all rows after that");
	return;
}

sub undo_age
{
	return $node->safe_psql('postgres', "select age(relfrozenxid) from pg_class where oid = '" . undo_relation($node) . "'::regclass");
}

# as for pg_upgrade: without autovacuum, which would be too fast for us
sub start_without_autovacuum
{
	system_or_bail('pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, '-o', '-b', 'start');
	$node->_update_pid(1);
	return;
}

$node->append_conf('postgresql.conf', "autovacuum_freeze_max_age = 2000000000\n");
# a table with an empty end: to truncate it would take an xid
$node->safe_psql('postgres', "create table tail (id int) using zheap; insert into tail select g from generate_series(1, 30000) g; delete from tail where id > 10");
leave_rows(7);
to_the_limit(\&start_without_autovacuum);
my ($rc, $out, $err) = $node->psql('postgres', "update old set v = 'new' where id = 2");
like($err, qr/not accepting commands (?:that assign new transaction IDs )?to avoid wraparound/, 'at the limit: no new xid');
is(digests($node), $expected, 'at the limit: all rows');
isnt($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', 'at the limit: undo is pending');
my $reader = $node->background_psql('postgres');
$reader->query_safe('begin isolation level repeatable read');
my $then = $reader->query_safe("select count(*), md5(string_agg(v, '' order by id)) from old");
is($node->psql('postgres', 'vacuum zheap.undo'), 0, 'at the limit: VACUUM of the undo relation') for 1 .. 3;
cmp_ok(undo_age(), '>', 2_000_000_000, 'it does not go beyond an old snapshot');
is($reader->query_safe("select count(*), md5(string_agg(v, '' order by id)) from old"), $then, 'which sees what it saw');
$reader->query_safe('commit');
$reader->quit;
$node->safe_psql('postgres', 'vacuum zheap.undo');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', 'all is rolled back');
cmp_ok(undo_age(), '<', 100, 'and the undo relation is frozen');
is($node->psql($_, 'vacuum freeze'), 0, "at the limit: VACUUM of database $_") foreach qw(other postgres template1 template0);
freed('after VACUUM');

# workers and autovacuum by themselves, and horizons that the server moves back by a setting, which PostgreSQL 16 has removed
my $defer = pg_major() < 16 ? 'vacuum_defer_cleanup_age' : '#';
$node->append_conf('postgresql.conf', "max_worker_processes = 8\n$defer = 1000\n");
leave_rows(8);
to_the_limit();
ok($node->poll_query_until('postgres', 'select zheap.zheap_undo_pending() = 0'), 'with workers: all is rolled back');
ok($node->poll_query_until('postgres', 'select max(age(datfrozenxid)) < 100000000 from pg_database'), 'with workers: autovacuum freezes all databases');
freed('with workers');
unlike(slurp_file($node->logfile), qr/background worker "zheap undo worker.*exited with exit code 1/, 'with workers: none has failed');

# single-user mode, in which xids are assigned
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n$defer = 0\n");
$node->restart;
leave_rows(9);
to_the_limit(sub { });
foreach my $db (qw(postgres other template1 template0))
{
	my $commands = ($db =~ /template/ ? '' : "vacuum zheap.undo\n") . "vacuum freeze\n";

	ok(run_log([ 'postgres', '--single', '-D', $node->data_dir, $db ], '<', \$commands), "single-user mode: $db");
}
my ($control) = run_command([ 'pg_controldata', $node->data_dir ]);
my ($next) = $control =~ /NextXID: *\d+:(\d+)/;
my ($oldest) = $control =~ /oldestXID: *(\d+)/;
cmp_ok(($next - $oldest) % 2**32, '<', 1000, 'it has frozen all databases');
$node->start;
is(digests($node), $expected, 'all rows after single-user mode');

$node->safe_psql('postgres', "update old set v = 'new' where id = 2; begin; update old set v = 'gone'; rollback");
is($node->safe_psql('postgres', "select count(*) from old where v = 'new'"), '1', 'changed again');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', 'what was pending is rolled back');
unlike($node->safe_psql('postgres', "select relfrozenxid from pg_class where relname in ('old', 'hot')"), qr/[1-9]/, 'tables have nothing to freeze');
$node->stop;
no_crash_in_log($node, 'to the end');
no_crash_in_log($standby, 'standby');
done_testing();
