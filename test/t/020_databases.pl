# Databases with zheap tables as objects: copied by both strategies, moved, dropped, dumped and restored, vacuumed as a whole.
# No worker runs at first, so that undo of aborted transactions is pending in each copy and must find its tables there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('databases', [ 'max_worker_processes = 0', 'autovacuum = off', 'shared_buffers = 16MB' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
foreach my $name (qw(ts1 ts2))
{
	mkdir "$dir/$name" or die $!;
	$node->safe_psql('postgres', "create tablespace $name location '$dir/$name'");
}

my @tables = qw(t wide u s);

# Rows in every state, then transactions that abort and are left pending.
sub fill
{
	my ($db, $tablespace) = @_;

	$node->safe_psql('postgres', "create database $db");
	$node->safe_psql($db, <<SQL);
create extension zheap;
create table t (id int primary key, n int, v text) using zheap;
create index t_n on t (n);
create table wide (id int primary key, v text) using zheap;
create unlogged table u (id int primary key, v text) using zheap;
create table s (id int, v text) using zheap tablespace $tablespace;
insert into t select g, g, 'v' || g from generate_series(1, 3000) g;
insert into wide select g, (select string_agg(md5((g * i)::text), '') from generate_series(1, 150) i) from generate_series(1, 30) g;
insert into u select g, 'u' || g from generate_series(1, 500) g;
insert into s select g, 's' || g from generate_series(1, 500) g;
delete from t where id % 10 = 0;
update t set v = 'in place' where id % 11 = 0;
SQL
	return;
}

sub abort_some
{
	my ($db) = @_;

	$node->safe_psql($db, <<'SQL');
begin;
update t set v = 'gone', n = -n where id % 2 = 0;
update wide set v = 'gone' || v;
update u set v = 'gone';
update s set v = 'gone';
rollback;
begin;
insert into t select g, g, 'gone' from generate_series(5001, 6000) g;
delete from t where id < 1000;
delete from s;
rollback;
begin;
savepoint a;
update t set v = 'gone' where id > 2500;
rollback to a;
update u set v = 'kept' where id = 1;
update t set v = 'kept' where id = 1;
commit;
SQL
	return;
}

sub digests
{
	my ($db) = @_;

	return join(' ', map { "$_:" . table_digest($node, $_, $db) } @tables);
}

# Put back what is pending, and let the horizon pass all of it.
sub settle
{
	my ($db) = @_;
	my $xid = $node->safe_psql($db, 'select pg_current_xact_id()');

	ok(wait_until(sub {
		$node->safe_psql($db, 'vacuum zheap.undo');
		$node->safe_psql('postgres', 'select pg_current_xact_id()') for 1 .. 2;
		return $node->safe_psql($db, "select zheap.zheap_undo_pending() = 0 and horizon > '$xid' from zheap.zheap_undo_stats()") eq 't';
	}), "$db: nothing is pending, and the horizon has passed it");
	return;
}

sub usable
{
	my ($db) = @_;

	$node->safe_psql($db, 'create extension if not exists amcheck');
	foreach my $index (qw(t_pkey t_n wide_pkey u_pkey))
	{
		my ($rc, $out, $err) = $node->psql($db, "select bt_index_parent_check('$index', true, true)");
		is($rc, 0, "$db: amcheck of $index");
		diag($err) if $rc;
	}
	is($node->safe_psql($db,
			"begin; update t set v = 'new' where id = 3; update wide set v = v; delete from s where id = 3; insert into t values (9999, 1, 'new'); rollback; select count(*) from t where v = 'new'"),
		'0', "$db: can be changed");
	return;
}

# Contents stay what they are, before and after the undo is applied.
sub check_copy
{
	my ($db, $expected) = @_;

	is(digests($db), $expected, "$db: all rows");
	settle($db);
	is(digests($db), $expected, "$db: all rows once everything is rolled back");
	usable($db);
	is(digests($db), $expected, "$db: and after more changes");
	return;
}

fill('src', 'ts2');
abort_some('src');
my $expected = digests('src');
isnt($node->safe_psql('src', 'select zheap.zheap_undo_pending()'), '0', 'undo is pending');

# copies of a database with pending undo
$node->safe_psql('postgres', 'create database c_wal template src strategy wal_log');
$node->safe_psql('postgres', 'create database c_file template src strategy file_copy');
$node->safe_psql('postgres', 'create database c_wal_ts template src strategy wal_log tablespace ts1');
$node->safe_psql('postgres', 'create database c_file_ts template src strategy file_copy tablespace ts1');
isnt($node->safe_psql('c_wal', 'select zheap.zheap_undo_pending()'), '0', 'in the copy, too');
check_copy('c_wal', $expected);
check_copy('c_wal_ts', $expected);

# the same replayed
crash($node);
start_again($node);
# what an unlogged table had is gone in databases that were copied by then
@tables = qw(t wide s);
$expected = digests('src');
check_copy($_, $expected) foreach qw(c_file c_file_ts);
is(digests($_), $expected, "$_: all rows after the crash") foreach qw(c_wal c_wal_ts);
usable('c_wal');

# a copy of a copy, whose undo was written by both
abort_some('c_wal');
my $second = digests('c_wal');
$node->safe_psql('postgres', 'create database c_second template c_wal strategy wal_log');
check_copy('c_second', $second);

# a database that moves, with pending undo, there and back
abort_some('src');
$expected = digests('src');
$node->safe_psql('postgres', 'alter database src set tablespace ts1');
is(digests('src'), $expected, 'moved: all rows');
abort_some('src');
$node->safe_psql('postgres', 'alter database src set tablespace pg_default');
check_copy('src', $expected);
$node->safe_psql('src', 'alter table t set tablespace ts1; alter table zheap.undo set tablespace ts1');
abort_some('src');
check_copy('src', $expected);
$node->safe_psql('src', 'alter table zheap.undo set tablespace pg_default; alter table t set tablespace pg_default');

# databases are independent; dropping one harms no other
$node->safe_psql('postgres', 'drop database c_file');
$node->safe_psql('postgres', 'drop database c_wal_ts');
my ($rc, $out, $err) = $node->psql('c_wal', 'drop extension zheap');
isnt($rc, 0, 'the extension stays while tables need it');
like($err, qr/cannot drop extension zheap because other objects depend on it/, 'which the error says');
$node->safe_psql('c_second', 'drop table t, wide, u, s; drop extension zheap; create extension zheap; '
	  . "create table t (id int primary key, v text) using zheap; insert into t values (1, 'a'); update t set v = 'b'");
is($node->safe_psql('c_second', 'select * from t'), '1|b', 'dropped and created again');
is(digests('src'), $expected, 'the other database is as it was');
settle('c_second');

# dump and restore
my $dump = "$dir/src.dump";
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'src' ], 'pg_dump');
$node->safe_psql('postgres', 'create database restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', $dump ], 'pg_restore');
is(digests('restored'), digests('src'), 'restored: all rows');
is($node->safe_psql('restored',
		"select string_agg(relname, ' ' order by relname) from pg_class c join pg_am a on a.oid = relam where amname = 'zheap'"),
	's t u wide', 'restored as zheap tables');
usable('restored');
$node->command_ok([ 'pg_dumpall', '-f', "$dir/all.sql" ], 'pg_dumpall');

# commands for whole databases, now with workers and autovacuum
$node->append_conf('postgresql.conf', "max_worker_processes = 16\nautovacuum = on\n");
$node->restart;
$node->command_ok([ 'vacuumdb', '--all', '--analyze' ], 'VACUUM ANALYZE of all databases');
$node->command_ok([ 'vacuumdb', '--all', '--freeze' ], 'VACUUM FREEZE of all databases');
$node->command_ok([ 'reindexdb', '--all' ], 'REINDEX of all databases');
$node->command_ok([ 'reindexdb', '--concurrently', 'src' ], 'REINDEX DATABASE CONCURRENTLY');
$node->command_ok([ 'vacuumdb', '--analyze-in-stages', '-j', '2', 'src' ], 'ANALYZE in stages');
$node->command_ok([ 'pg_amcheck', '--install-missing', '-d', 'src' ], 'pg_amcheck passes');
is(digests('src'), $expected, 'src: all rows after that');
usable('src');

# workers do not keep databases from being copied or dropped for long
for my $i (1 .. (short() ? 3 : 10))
{
	abort_some('src');
	$node->safe_psql('postgres', 'create database quick template src');
	abort_some('quick');
	is(digests('quick'), $expected, "round $i: a copy with workers about");
	$node->safe_psql('postgres', 'drop database quick');
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
