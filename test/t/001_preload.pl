# Without shared_preload_libraries every use of zheap is a clear ERROR with a hint, and nothing else suffers.
# Tried at CREATE EXTENSION, at table creation and at access to tables made before; recovery waits for the library.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = PostgreSQL::Test::Cluster->new('preload');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nautovacuum_naptime = 1s\n");
$node->start;

sub refused
{
	my ($statement) = @_;
	my ($rc, $out, $err) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\n$statement");

	isnt($rc, 0, "refused: $statement");
	like($err, qr/ERROR:  55000: .*zheap/, 'a clear error');
	like($err, qr/HINT:.*shared_preload_libraries/, 'with the hint');
	return;
}

# at CREATE EXTENSION
refused('create extension zheap');
is($node->safe_psql('postgres', "select count(*) from pg_extension where extname = 'zheap'"),
	'0', 'no extension');
is($node->safe_psql('postgres', "select count(*) from pg_am where amname like 'zheap%'"),
	'0', 'no access method');

# with the library: tables of all kinds
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'zheap'\n");
$node->restart;
$node->safe_psql('postgres', <<'SQL');
create extension zheap;
create table t (id int primary key, v text) using zheap;
insert into t select g, 'v' || g from generate_series(1, 1000) g;
update t set v = v || '!' where id % 2 = 0;
create table h (id int primary key, v text) using heap;
insert into h select * from t;
create materialized view m using zheap as select id from t;
create table p (id int) partition by range (id);
create table p1 partition of p for values from (0) to (10) using zheap;
create table p2 partition of p for values from (10) to (20) using heap;
SQL
my $before = table_digest($node, 't');

# without: at table creation and at any access
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
refused($_) foreach (
	'create table t2 (a int) using zheap',
	'set default_table_access_method = zheap; create table t2 (a int)',
	'create table t2 using zheap as select 1 as a',
	'select count(*) from t',
	'select * from t where id = 1',
	"insert into t values (5000, 'x')",
	"update t set v = 'x' where id = 1",
	'delete from t where id = 1',
	'copy t to stdout',
	'create index on t (v)',
	'analyze t',
	'vacuum t',
	'truncate t',
	'drop table t cascade',
	'alter table t set access method heap',
	'refresh materialized view m',
	'select * from m',
	'insert into p values (1)',
	'create table p3 partition of p for values from (20) to (30) using zheap',
	'select zheap.zheap_undo_pending()',
	"begin; create table x (a int); savepoint s; lock t; insert into t values (1, 'x')");

# all else works
is($node->safe_psql('postgres', 'select count(*) from h'), '1000', 'heap is there');
is($node->safe_psql('postgres', "update h set v = 'x' where id = 1 returning v"), 'x', 'heap is writable');
is($node->safe_psql('postgres', "select count(*) from pg_class where relname = 't'"), '1', 'catalogs are readable');
is($node->safe_psql('postgres', 'select id from p2'), '', 'a heap partition is readable');
is($node->safe_psql('postgres', 'create table h2 (a int); insert into h2 values (1); select * from h2'),
	'1', 'new tables can be made');
$node->safe_psql('postgres', 'create table due using heap as select g from generate_series(1, 1000) g; delete from due');
ok($node->poll_query_until('postgres', "select autovacuum_count > 0 from pg_stat_user_tables where relname = 'due'"), 'autovacuum goes through what it can');

# with it once more: all as it was
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'zheap'\n");
$node->restart;
is(table_digest($node, 't'), $before, 'the table is as before');
$node->safe_psql('postgres', 'insert into p values (1), (11); update t set v = v; refresh materialized view m');
is($node->safe_psql('postgres', 'select count(*) from p'), '2', 'and all works again');

# a crash leaves WAL that only the library can replay: the server says so, and
# nothing is lost once the library is back
$node->safe_psql('postgres', "checkpoint; update t set v = 'before the crash'");
$node->stop('immediate');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
ok(!$node->start(fail_ok => 1), 'no recovery without the library');
like(slurp_file($node->logfile), qr/FATAL:  resource manager with ID 128 not registered/, 'which the log says');
like(slurp_file($node->logfile), qr/HINT:  .*shared_preload_libraries/, 'with a hint');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'zheap'\n");
$node->start;
is($node->safe_psql('postgres', 'select count(*), min(v), max(v) from t'),
	'1000|before the crash|before the crash', 'recovered with the library');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
