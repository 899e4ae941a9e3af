# The server's command-line tools on databases with zheap tables: dumps by several jobs while rows change, restored to zheap and to
# heap; a verified base backup; received WAL; pg_amcheck, vacuumdb, reindexdb, clusterdb, pgbench, psql's sizes, pg_checksums.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('tools', [ 'autovacuum = off', 'shared_buffers = 32MB', 'max_wal_senders = 5', 'wal_keep_size = 256MB' ], allows_streaming => 1, checksums => 0);
my $dir = PostgreSQL::Test::Utils::tempdir();
local %ENV = $node->_get_env();

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

# ---- pgbench ----

my @sets = ([ '-I', 'dtgvpf' ], [ '-I', 'dtGvpf' ], [ '--partitions=3', '--partition-method=hash', '--foreign-keys' ],
	[ '--partitions=2', '--unlogged-tables' ], [ '--fillfactor=70', '--foreign-keys' ]);
foreach my $set (@sets)
{
	local $ENV{PGOPTIONS} = '-c default_table_access_method=zheap';

	$node->command_ok([ 'pgbench', '-i', '-q', '-s', 1, @$set, 'postgres' ], "pgbench -i @$set");
	is(sql("select string_agg(distinct amname, ' ') from pg_class c join pg_am a on a.oid = relam where relname ~ '^pgbench_' and relkind = 'r'"), 'zheap', 'makes zheap tables');
	foreach my $script (qw(tpcb-like simple-update select-only))
	{
		my ($rc, undef, $err) = pgbench_run($node, '-c', 4, '-t', 25, '-b', $script, '-M', 'prepared');
		is($rc, 0, "pgbench -b $script") or diag($err);
	}
	is(sql('select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)'), 't', 'accounts and history agree');
	is(sql('select (select sum(bbalance) from pgbench_branches) = (select sum(tbalance) from pgbench_tellers)'), 't', 'branches and tellers agree');
}

# ---- pg_dump, pg_restore ----

sql(<<'SQL');
create table t (id int primary key, n int, v text, wide text) using zheap;
create index t_n on t (n);
create table h (id int primary key, n int) using heap;
create unlogged table u (id int) using zheap;
create materialized view m using zheap as select generate_series(1, 100) as a;
create table p (id int, v text) partition by range (id);
create table p0 partition of p for values from (0) to (500) using zheap;
create table p1 partition of p for values from (500) to (1000) using heap;
insert into t select g, g, 'v' || g, case when g % 100 = 0 then (select string_agg(md5((g * i)::text), '') from generate_series(1, 200) i) end from generate_series(1, 10000) g;
insert into h select g, g from generate_series(1, 1000) g;
insert into u select generate_series(1, 100);
insert into p select g, 'p' || g from generate_series(0, 999) g;
update t set n = n + 20000 where id % 3 = 0;
delete from t where id % 7 = 0;
begin; update t set n = -1, v = 'gone'; delete from p; rollback;
SQL
my @tables = qw(t h u m p);
my $ams = "select string_agg(relname || ' ' || amname, ', ' order by relname) from pg_class c join pg_am a on a.oid = relam where relname in ('t', 'h', 'u', 'm', 'p0', 'p1') or (relname ~ '^pgbench' and relkind = 'r')";

sub digests
{
	my ($db, $on) = @_;

	return join(' ', map { table_digest($on // $node, $_, $db) } @tables);
}

my $expected = digests('postgres');
my $as_it_was = sql($ams);
my $load = $node->basedir . '/load.sql';
append_to_file($load, <<'SQL');
\set aid random(1, 100000)
\set d random(-1000, 1000)
begin;
update pgbench_accounts set abalance = abalance + :d where aid = :aid;
update pgbench_branches set bbalance = bbalance + :d;
update pgbench_tellers set tbalance = tbalance + :d where tid = 1 + :aid % 10;
insert into pgbench_history (tid, bid, aid, delta) values (1, 1, :aid, :d);
commit;
begin; update pgbench_accounts set abalance = 1000000 where aid between :aid and :aid + 50; rollback;
SQL
# from here on all four sums agree in every snapshot
sql('update pgbench_accounts set abalance = 0; update pgbench_tellers set tbalance = 0; update pgbench_branches set bbalance = 0; truncate pgbench_history');
my $run = pgbench_start($node, '-c', 3, '-T', 3600, '-f', $load);
ok($node->poll_query_until('postgres', 'select count(*) > 100 from pgbench_history'), 'rows change');
my %dumps = (plain => [ '-Fp', '-f', "$dir/plain.sql" ], custom => [ '-Fc', '-f', "$dir/custom" ], directory => [ '-Fd', '-j', 4, '-f', "$dir/directory" ],
	tar => [ '-Ft', '-f', "$dir/tar" ]);
$node->command_ok([ 'pg_dump', @{ $dumps{$_} }, 'postgres' ], "pg_dump, $_, while rows change") foreach sort keys %dumps;
my ($rc, undef, $err) = pgbench_stop($run);
is($rc, 0, 'load') or diag($err);

my %restore = (plain => [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", '-d' ], custom => [ 'pg_restore', '-e', '-j', 4, "$dir/custom", '-d' ],
	directory => [ 'pg_restore', '-e', '-j', 4, "$dir/directory", '-d' ], tar => [ 'pg_restore', '-e', "$dir/tar", '-d' ],
	to_heap => [ 'pg_restore', '-e', '-j', 2, '--no-table-access-method', "$dir/directory", '-d' ]);
foreach my $how (sort keys %restore)
{
	sql("create database $how");
	$node->command_ok([ @{ $restore{$how} }, $how ], "restored, $how");
	is(sql($ams, $how), $how eq 'to_heap' ? $as_it_was =~ s/ zheap/ heap/gr : $as_it_was, "$how: access methods");
	is(digests($how), $expected, "$how: all rows");
	is(sql('select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history) and (select sum(bbalance) from pgbench_branches) = (select sum(tbalance) from pgbench_tellers) and (select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history)', $how),
		't', "$how: as of one snapshot");
	is(sql('select count(*) > 0 and max(abalance) < 1000000 from pgbench_accounts', $how), 't', "$how: nothing that was rolled back");
}
$node->command_ok([ 'pg_dump', '--no-table-access-method', '-f', "$dir/no_am.sql", 'postgres' ], 'pg_dump --no-table-access-method');
unlike(slurp_file("$dir/no_am.sql"), qr/default_table_access_method/, 'names no access method');
$node->command_ok([ 'pg_dump', '--inserts', '--data-only', '-t', 't', '-f', "$dir/inserts.sql", 'postgres' ], 'pg_dump --inserts');
is(scalar(() = slurp_file("$dir/inserts.sql") =~ /^INSERT INTO/mg), sql('select count(*) from t'), 'a statement for each row');
sql("drop database $_") foreach sort keys %restore;

# ---- psql ----

foreach my $command ('\d+ t', '\dt+ t', '\di+ t_n', '\dm+ m', '\dA+ zheap')
{
	my ($out, $err) = run_command([ 'psql', '-X', '-d', 'postgres', '-c', $command ]);

	is($err, '', "psql: $command");
	like($out, qr/\bzheap\b/, "$command names the access method") unless $command =~ /^\\di/;
	my $size = $command =~ /^\\d[tm]\+ (\w+)/ ? sql("select pg_size_pretty(pg_table_size('$1'))") : $command =~ /^\\di/ ? sql("select pg_size_pretty(pg_table_size('t_n'))") : '';
	like($out, qr/\Q$size\E/, "$command: size");
}
is(sql("select pg_table_size('t') = sum(pg_relation_size('t', f)) + pg_total_relation_size(reltoastrelid) and pg_total_relation_size('t') = pg_table_size('t') + pg_indexes_size('t') from pg_class, unnest(array['main', 'fsm', 'vm', 'init']) f where oid = 't'::regclass group by reltoastrelid"),
	't', 'sizes add up');

# ---- vacuumdb, reindexdb, clusterdb, pg_amcheck ----

$node->command_ok([ 'vacuumdb', '-j', 3, '--analyze', 'postgres' ], 'vacuumdb -j');
$node->command_ok([ 'vacuumdb', $_, '-t', 't', 'postgres' ], "vacuumdb $_") foreach qw(--full --freeze --disable-page-skipping --no-index-cleanup --force-index-cleanup --no-truncate --no-process-toast --parallel=2 --analyze-only);
$node->command_ok([ 'vacuumdb', '--min-xid-age=1', '-v', 'postgres' ], 'vacuumdb --min-xid-age');
unlike((run_command([ 'vacuumdb', '--min-xid-age=1', '--echo', 'postgres' ]))[0], qr/VACUUM.* public\.t;/, 'has nothing to do for a table without a frozen xid');
$node->command_ok([ 'reindexdb', '-j', 2, '--concurrently', 'postgres', '-t', 't', '-t', 'h' ], 'reindexdb -j --concurrently');
sql('cluster t using t_n');
$node->command_ok([ 'clusterdb', '-t', 't', 'postgres' ], 'clusterdb');
is(digests('postgres'), $expected, 'all rows are there');
sql('create extension amcheck');
foreach my $options ([], [ '--heapallindexed' ], [ '--parent-check', '--rootdescend', '--heapallindexed' ])
{
	my ($out, $err) = run_command([ 'pg_amcheck', '-v', @$options, 'postgres' ]);

	$node->command_ok([ 'pg_amcheck', @$options, 'postgres' ], "pg_amcheck @$options");
	like($err, qr/checking heap table "postgres.public.h"/, 'checks heap tables');
	unlike($err, qr/"postgres.(public.t|public.t_n|zheap.undo)"/, 'and leaves zheap tables, their indexes, and undo out');
	like($err, qr/checking heap table "postgres.pg_toast.pg_toast_\d+"/, 'toast tables are heap tables');
}
foreach my $options ([ '-i', '*' ], [ '-i', 'public.*' ], [ '-s', 'public' ])
{
	my @all = ('pg_amcheck', '--parent-check', '--rootdescend', '--heapallindexed', @$options, 'postgres');

	like((run_command([ @all, '-v' ]))[1], qr/checking btree index "postgres.public.t_n"/, "@all: checks indexes of zheap tables");
	$node->command_ok(\@all, 'all is well');
}
$node->command_fails_like([ 'pg_amcheck', '-t', 't', 'postgres' ], qr/no heap tables to check matching "t"/, 'pg_amcheck -t says so');
$node->command_fails_like([ 'pg_amcheck', '-s', 'zheap', 'postgres' ], qr/no (relations|heap tables).* to check/, 'the same of the undo relation');

# ---- pg_basebackup, pg_verifybackup, pg_receivewal, pg_waldump ----

$run = pgbench_start($node, '-c', 3, '-T', 3600, '-f', $load);
$node->command_ok([ 'pg_basebackup', '-D', "$dir/backup", '-X', 'stream', '-c', 'fast', '--no-sync', '--manifest-checksums=SHA256' ], 'pg_basebackup under load');
$node->command_ok([ 'pg_basebackup', '-D', "$dir/tars", '-Ft', '-z', '-X', 'stream', '-c', 'fast', '--no-sync' ], 'as tar files');
pgbench_stop($run);
$node->command_ok([ 'pg_verifybackup', "$dir/backup" ], 'pg_verifybackup, WAL included');
my $copy = PostgreSQL::Test::Cluster->new('copy');
rename "$dir/backup", $node->backup_dir . '/by_tool' or do { mkdir $node->backup_dir; rename "$dir/backup", $node->backup_dir . '/by_tool' or die $! };
$copy->init_from_backup($node, 'by_tool');
$copy->start;
is($copy->safe_psql('postgres', 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)'), 't', 'the copy is consistent');
is(table_digest($copy, 't'), table_digest($node, 't'), 'and has all rows');
btrees_agree($copy, 'copy', qw(t_pkey t_n pgbench_accounts_pkey));
$copy->stop;

sql("select pg_create_physical_replication_slot('received', true)");
mkdir "$dir/wal" or die $!;
sql($_) foreach 'select pg_switch_wal()', 'update t set n = n + 1', "begin; update t set v = 'gone'; rollback", 'delete from t where id < 100', 'vacuum t', 'cluster t';
my $last = sql('select pg_walfile_name(pg_current_wal_lsn())');
sql($_) foreach 'select pg_switch_wal()', 'create table in_the_next_segment ()';
my $to = sql('select pg_current_wal_flush_lsn()');
$node->command_ok([ 'pg_receivewal', '-D', "$dir/wal", '-S', 'received', '--no-sync', '--no-loop', '-E', $to ], 'pg_receivewal');
my $received = "$dir/wal/$last";
ok(-f $received, 'the segment is there');
foreach my $options ([ '-q' ], [ '-b' ], [ '--stats' ], [ '--stats=record' ], [ '-r', 'custom128' ], [ '-w' ])
{
	my ($out, $err) = run_command([ 'pg_waldump', @$options, $received ]);

	unlike($err, qr/fatal|terminated|\berror: (?!error in WAL record at)/, "pg_waldump @$options");
	like($out, qr/custom128/, 'shows the records') unless $options->[0] =~ /^-[qw]/;
}

# ---- pg_checksums ----

$expected = digests('postgres');
$node->stop;
$node->command_ok([ 'pg_checksums', '--enable', '-D', $node->data_dir, '--no-sync' ], 'pg_checksums --enable');
$node->command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'and --check');
$node->start;
is(sql('show data_checksums'), 'on', 'with checksums');
is(digests('postgres'), $expected, 'all rows are there');
sql('update t set n = n + 1');
sql('begin; update t set n = -1; rollback');
sql('checkpoint');
sql('vacuum');
$node->stop;
$node->command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums of what has changed');
no_crash_in_log($node, 'to the end');
done_testing();
