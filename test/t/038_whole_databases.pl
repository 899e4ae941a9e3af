# Commands for whole databases that rewrite every table, the undo relation among them, with pending undo and an old snapshot of another session.
# Many databases with the extension; it is dropped only where nothing needs it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('whole', [ 'autovacuum = off', 'shared_buffers = 32MB', 'max_wal_size = 2GB', 'fsync = off', 'zheap.undo_worker_naptime = 50ms' ]);

sub fill
{
	my ($db) = @_;

	$node->safe_psql($db, <<'SQL');
create extension zheap;
create table t (id int primary key, k int, v text) using zheap;
create index t_k on t (k);
create table wide (id int primary key, v text) using zheap;
create table part (id int, v text) partition by hash (id);
create table part0 partition of part for values with (modulus 2, remainder 0) using zheap;
create table part1 partition of part for values with (modulus 2, remainder 1) using heap;
create materialized view m using zheap as select g as id from generate_series(1, 100) g;
insert into t select g, g % 100, 'v' || g from generate_series(1, 5000) g;
insert into wide select g, (select string_agg(md5((g * i)::text), '') from generate_series(1, 150) i) from generate_series(1, 20) g;
insert into part select g, 'p' || g from generate_series(1, 500) g;
cluster t using t_k;
SQL
	return;
}

sub changes
{
	my ($db) = @_;

	$node->safe_psql($db, <<'SQL');
update t set v = v || '!' where id % 3 = 0;
delete from t where id % 7 = 0;
update t set k = k + 1 where id % 5 = 0;
begin; update t set v = 'gone', k = -1; delete from wide; update part set v = 'gone'; insert into t select -g, 0, 'gone' from generate_series(1, 500) g; rollback;
begin; savepoint a; delete from t where id < 3000; rollback to a; update part set v = v || 'x' where id < 100; commit;
insert into t select g, 0, 'back' from generate_series(1, 5000) g where g % 7 = 0;
SQL
	return;
}

my @tables = qw(t wide part m);
sub digests
{
	my ($db) = @_;

	return join(' ', map { "$_:" . table_digest($node, $_, $db) } @tables);
}

$node->safe_psql('postgres', 'create database d');
fill('d');
changes('d');

# An old snapshot that does not hold any lock when the table is rewritten: it is another session's, imported then.
my $look = "select (select count(*) || md5(string_agg(md5(t::text), '' order by md5(t::text))) from t), (select count(*) || md5(string_agg(md5(part::text), '' order by md5(part::text))) from part)";
my $old = $node->background_psql('d');
$old->query_safe('begin isolation level repeatable read');
my $snapshot = $old->query_safe('select pg_export_snapshot()');
sub seen_by_old
{
	return $node->safe_psql('d', "begin isolation level repeatable read; set transaction snapshot '$snapshot'; $look");
}
my $seen = seen_by_old();

foreach my $workers (0, 3)
{
	set_and_reload($node, "zheap.undo_workers = $workers");
	foreach my $command ('vacuum full', 'vacuum (full, analyze)', 'cluster', 'reindex database d', 'reindex system d', 'analyze', 'vacuum (freeze, analyze)', 'vacuum')
	{
		my $what = "$command, $workers workers";

		changes('d');
		my $expected = digests('d');
		my ($rc, $out, $err) = $node->psql('d', $command);
		is($rc, 0, $what);
		unlike($err, qr/ERROR|WARNING: (?! *(?:cannot reindex system|skipping))/, "$what: without warnings") or diag($err);
		is(digests('d'), $expected, "$what: all rows");
		is(seen_by_old(), $seen, "$what: the old snapshot sees what it saw");
	}
	btrees_agree_in('d');
}
$old->query_safe('commit');
$old->quit;

sub btrees_agree_in
{
	my ($db) = @_;

	$node->safe_psql($db, 'create extension if not exists amcheck');
	foreach my $index (qw(t_pkey t_k wide_pkey))
	{
		my ($rc, $out, $err) = $node->psql($db, "select bt_index_parent_check('$index', true, true)");
		is($rc, 0, "$db: amcheck of $index") or diag($err);
	}
	return;
}

# all databases at once, under load
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/load.sql", "\\set id random(1, 5000)\nbegin;\nupdate t set k = k + 1, v = 'x' || :id where id = :id;\ncommit;\nbegin;\nupdate t set v = 'gone' where id between :id and :id + 20;\nrollback;\n");
{
	my $load = pgbench_start($node, '-c', 4, '-T', 3600, '-f', "$scripts/load.sql", 'd');
	$node->command_ok([ 'vacuumdb', '--all', '--full' ], 'VACUUM FULL of all databases under load');
	$node->command_ok([ 'reindexdb', '--all' ], 'REINDEX of all databases under load');
	$node->command_ok([ 'reindexdb', '--concurrently', 'd' ], 'REINDEX DATABASE CONCURRENTLY under load');
	$node->command_ok([ 'clusterdb', '--all' ], 'CLUSTER of all databases under load');
	my (undef, undef, $err) = pgbench_stop($load);
	unlike($err, qr/ERROR|FATAL/, 'the load goes on') or diag($err);
}
is($node->safe_psql('d', "select count(*), count(distinct id), count(*) filter (where v = 'gone') from t"), '5000|5000|0', 'all rows are there');
btrees_agree_in('d');
my $expected = digests('d');
crash($node);
start_again($node);
is(digests('d'), $expected, 'all rows after a crash');

# ---- many databases ----

my $n = short() ? 8 : 20;
$node->safe_psql('postgres', "create database m$_ template d") foreach 1 .. $n;
$node->safe_psql("m$_", "begin; update t set v = 'gone'; rollback; update t set v = 'm$_' where id <= $_") foreach 1 .. $n;
my $wrong = grep { $node->safe_psql("m$_", "select count(*), count(*) filter (where v = 'm$_'), count(*) filter (where v = 'gone') from t") ne "5000|$_|0" } 1 .. $n;
is($wrong, 0, "$n databases, each with its own");
ok($node->poll_query_until("m$_", 'select zheap.zheap_undo_pending() = 0'), "m$_: rolled back") foreach 1 .. $n;
# one whose extension goes, one that goes in the middle of a revert, and all others stay
my ($rc, $out, $err) = $node->psql('m1', '\set VERBOSITY verbose' . "\ndrop extension zheap");
like($err, qr/ERROR:  2BP01: cannot drop extension zheap because other objects depend on it/, 'DROP EXTENSION is refused while tables need it');
is($node->safe_psql('m1', "select count(*) from t where v = 'm1'"), '1', 'and nothing is lost by it');
$node->safe_psql('m1', "alter table t set access method heap; alter table wide set access method heap; alter table part0 set access method heap; alter materialized view m set access method heap");
is($node->psql('m1', 'drop extension zheap'), 0, 'it can be dropped when all tables are heap tables');
is($node->safe_psql('m1', "select count(*), count(*) filter (where v = 'm1') from t"), '5000|1', 'whose rows are there');
is($node->safe_psql('m1', 'create extension zheap; alter table t set access method zheap; update t set v = v || 1 where id = 1; select v from t where id = 1'), 'm11', 'and back again');
# nobody puts it back
set_and_reload($node, 'zheap.undo_workers = 0');
$node->safe_psql('m2', "begin; update t set v = 'gone', k = 0; rollback");
isnt($node->safe_psql('m2', 'select zheap.zheap_undo_pending()'), '0', 'undo of a database is pending');
is($node->psql('postgres', 'drop database m2'), 0, 'it can be dropped');
set_and_reload($node, 'zheap.undo_workers = 3');
is($node->safe_psql('m3', "select count(*), count(*) filter (where v = 'm3') from t"), '5000|3', 'others are as they were');
is(digests('d'), $expected, 'so is the first');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
