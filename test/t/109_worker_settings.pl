# What undo workers must not do by the server's settings, and where they must not go; and a DROP DATABASE that is refused.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('settings', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_worker_naptime = 100ms' ], checksums => 0);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# ---- a page that cannot be read is not a page where nothing is to be rolled back ----

sql("create table t (id int primary key, v text) using zheap; insert into t values (1, 'good'), (2, 'good'); vacuum t");
my $file = $node->data_dir . '/' . sql("select pg_relation_filepath('t')");
sql("begin; update t set v = 'bad' where id = 1; delete from t where id = 2; rollback");
isnt(sql('select zheap.zheap_undo_pending()'), '0', 'a rollback is pending');
sql('checkpoint');
$node->stop;

# the header's pd_lower
my $lower = write_bytes($file, 12, "\xff\xff");
$node->append_conf('postgresql.conf', "zero_damaged_pages = on\nzheap.undo_workers = 1\ndefault_transaction_isolation = 'serializable'\ndefault_transaction_read_only = on\n");
$node->start;
ok(wait_until(sub { slurp_file($node->logfile) =~ /: invalid page in block 0 of relation/ }), 'a worker has come to the page');
isnt(sql('select zheap.zheap_undo_pending()'), '0', 'the rollback is still pending');
$node->stop;
write_bytes($file, 12, $lower);
$node->append_conf('postgresql.conf', "zero_damaged_pages = off\n");
$node->start;
ok(wait_until(sub { sql('select zheap.zheap_undo_pending()') eq '0' }), 'rolled back when the page can be read');
is(sql("select string_agg(v, ' ' order by id) from t"), 'good good', 'all rows are right');
$node->append_conf('postgresql.conf', "default_transaction_isolation = 'read committed'\ndefault_transaction_read_only = off\n");
$node->reload;

# ---- DROP DATABASE that is refused ----

$node->safe_psql('postgres', 'create database d');
my $there = session($node, 'd');
$there->query_safe('create extension zheap; create table c (id int primary key, n int) using zheap; insert into c values (1, 1); update c set n = 2');
my $counts = "select updated_in_place from zheap.zheap_stat_tables where relid = 'c'::regclass";
my $counted = $there->query_safe($counts);
my (undef, undef, $err) = $node->psql('postgres', 'drop database d');
like($err, qr/is being accessed by other users/, 'a database in use is not dropped');
is($there->query_safe($counts), $counted, 'what was counted in it is there');

# ---- one that was dropped halfway ----

$node->append_conf('postgresql.conf', "zheap.undo_workers = 0\n");
$node->reload;
$there->query_safe('begin; update c set n = 3; rollback');
$there->quit;
sql("update pg_database set datconnlimit = -2 where datname = 'd'");
my $log = -s $node->logfile;
$node->append_conf('postgresql.conf', "zheap.undo_workers = 1\n");
$node->restart;
sql('begin; update t set id = id + 10; rollback');
ok(wait_until(sub { sql('select zheap.zheap_undo_pending()') eq '0' }), 'the worker is there');
sql('begin; update t set id = id + 10; rollback');
ok(wait_until(sub { sql('select zheap.zheap_undo_pending()') eq '0' }), 'and comes again');
unlike(slurp_file($node->logfile, $log), qr/cannot connect to invalid database/, 'no worker is sent to a database that cannot be connected to');
sql('drop database d');
no_crash_in_log($node, 'settings');
$node->stop;
done_testing();
