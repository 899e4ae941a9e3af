# pg_upgrade to another cluster of the same version, by copy and by link: tables and their undo come along.
# The old cluster has pending undo, a prepared past and an epoch above zero.  (Tablespaces: pg_upgrade wants another version.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Path qw(rmtree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my @no_workers = ('max_worker_processes = 0', 'autovacuum = off');
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);

my $old = PostgreSQL::Test::Cluster->new('old');
$old->init;
$old->append_conf('postgresql.conf', join("\n", @no_workers, 'log_statement = none') . "\n");
$old->start;
# past a wraparound
$old->stop;
$old->command_ok([ 'pg_resetwal', '-e', '3', $old->data_dir ], 'a later epoch');
$old->start;

sub fill
{
	my ($db) = @_;

	$old->safe_psql($db, <<'SQL');
create extension zheap;
create table before (id int primary key, v text) using zheap;
create table t (id int primary key, n int, v text) using zheap;
create index t_n on t (n);
create table wide (id int primary key, v text) using zheap;
create table s (id int, v text) using zheap;
create unlogged table u (id int, v text) using zheap;
create table p (id int, v text) partition by hash (id);
create table p0 partition of p for values with (modulus 2, remainder 0) using zheap;
create table p1 partition of p for values with (modulus 2, remainder 1) using heap;
create materialized view m using zheap as select 1 as a;
insert into before values (1, 'a');
drop table before;
insert into t select g, g, 'v' || g from generate_series(1, 3000) g;
insert into wide select g, (select string_agg(md5((g * i)::text), '') from generate_series(1, 150) i) from generate_series(1, 30) g;
insert into s select g, 's' || g from generate_series(1, 500) g;
insert into u select g, 'u' || g from generate_series(1, 500) g;
insert into p select g, 'p' || g from generate_series(1, 500) g;
alter table t add column late text default 'late';
alter table t drop column v;
delete from t where id % 10 = 0;
update t set late = 'in place' where id % 11 = 0;
begin; update t set n = -n, late = 'gone'; update s set v = 'gone'; update u set v = 'gone'; update p set v = 'gone'; rollback;
begin; insert into t select g, g, 'gone' from generate_series(5001, 6000) g; delete from t where id < 1000; delete from wide; rollback;
begin; update s set v = 'prepared' where id < 10; prepare transaction 'x';
rollback prepared 'x';
SQL
	return;
}

my @dbs = ('postgres', 'second');
my @tables = qw(t wide s u p m);
$old->safe_psql('postgres', 'create database second');
fill($_) foreach @dbs;
# one that is a copy
$old->safe_psql('postgres', "create database third template second");
push @dbs, 'third';

sub digests
{
	my ($node) = @_;

	return join("\n", map { my $db = $_; map { "$db.$_: " . table_digest($node, $_, $db) } @tables } @dbs);
}

my $expected = digests($old);
isnt($old->safe_psql($_, 'select zheap.zheap_undo_pending()'), '0', "$_: undo is pending") foreach @dbs;
$old->stop;

sub upgrade
{
	my ($mode) = @_;
	my $new = PostgreSQL::Test::Cluster->new("new$mode");

	$new->init;
	# the launcher and its workers must not be in the way
	$new->append_conf('postgresql.conf', "zheap.undo_worker_naptime = 10ms\n");
	my $cwd = PostgreSQL::Test::Utils::tempdir();
	chdir $cwd or die $!;
	my $ok = $new->command_ok([ 'pg_upgrade', '--no-sync',
			'-d', $old->data_dir, '-D', $new->data_dir,
			'-b', $bindir, '-B', $bindir,
			'-s', $new->host, '-p', $old->port, '-P', $new->port,
			($mode eq 'link' ? '--link' : ()) ], "pg_upgrade, $mode");
	chdir $FindBin::RealBin;
	my $logs = $new->data_dir . '/pg_upgrade_output.d';
	if (-d $logs)
	{
		foreach my $log (glob("$logs/*/log/*.log"))
		{
			my @bad = grep { /ERROR|FATAL|PANIC|TRAP/ } split /\n/, slurp_file($log);
			diag("$log: $_") foreach @bad;
		}
	}
	return $new;
}

sub check
{
	my ($new, $mode) = @_;

	# first as it is, then with workers
	$new->append_conf('postgresql.conf', join("\n", @no_workers) . "\n");
	$new->start;
	is(digests($new), $expected, "$mode: all rows");
	is($new->safe_psql('postgres', "select string_agg(relname, ' ' order by relname) from pg_class c join pg_am a on a.oid = relam where amname = 'zheap' and relkind <> 'i'"),
		'm p0 s t u wide', "$mode: zheap tables");
	isnt($new->safe_psql('second', 'select zheap.zheap_undo_pending()'), '0', "$mode: undo is still pending");
	is($new->safe_psql('postgres', "select horizon between '12884901888' and pg_current_xact_id() from zheap.zheap_undo_stats()"),
		't', "$mode: the horizon is of this epoch");
	is($new->safe_psql('postgres', "select bool_and(relfrozenxid <> '0' and age(relfrozenxid) between 0 and 1000000) from pg_class where oid = 'zheap.undo'::regclass"),
		't', "$mode: the undo relation keeps the commit log");
	# since PostgreSQL 17 REFRESH fills a new materialized view, and sets its relfrozenxid
	is($new->safe_psql('postgres', "select string_agg(distinct relfrozenxid::text, ' ') from pg_class c join pg_am a on a.oid = relam where amname = 'zheap' and relkind not in ('i', 'm')"),
		'0', "$mode: tables have nothing to freeze");
	$new->stop;
	$new->append_conf('postgresql.conf', "max_worker_processes = 16\nautovacuum = on\n");
	$new->start;
	foreach my $db (@dbs)
	{
		ok($new->poll_query_until($db, 'select zheap.zheap_undo_pending() = 0'), "$mode: $db is rolled back");
		$new->safe_psql($db, 'create extension if not exists amcheck; select pg_current_xact_id()');
		$new->safe_psql($db, "select bt_index_parent_check('$_', true, true)") foreach qw(t_pkey t_n wide_pkey);
	}
	is(digests($new), $expected, "$mode: all rows once all is rolled back");
	$new->command_ok([ 'vacuumdb', '--all', '--analyze' ], "$mode: VACUUM");
	is(digests($new), $expected, "$mode: all rows after VACUUM");
	$new->safe_psql('postgres', "begin; update t set n = 0; delete from s; rollback; begin; update t set late = 'new' where id = 1; insert into t values (9999, 1, 'new'); update p set v = 'new' where id = 1; commit;");
	is($new->safe_psql('postgres', "select count(*) from t where late = 'new'"), '2', "$mode: can be changed");
	is($new->safe_psql('postgres', 'select count(*) from t where n = 0'), '0', "$mode: and rolled back");
	crash($new);
	start_again($new);
	is($new->safe_psql('postgres', "select count(*) from t where late = 'new'"), '2', "$mode: the same after a crash");
	$new->safe_psql('postgres', 'drop table t, wide, s, u, p; drop materialized view m; drop extension zheap; create extension zheap');
	$new->stop;
	no_crash_in_log($new, $mode);
	return;
}

check(upgrade($_), $_) foreach qw(copy link);
done_testing();
