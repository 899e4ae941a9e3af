# A standby forgets what it has counted of tables that are dropped. The worker that marks pages waits for nobody who extends a table,
# neither for the visibility map nor for the free space map.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_worker_naptime = 100ms', 'max_locks_per_transaction = 200' ], allows_streaming => 1);

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---- counters of dropped tables ----

my $standby = new_standby($node, 'standby');

foreach my $round (1 .. 3)
{
	sql("do \$\$ begin for i in 1 .. 300 loop execute format('create table n%s (id int) using zheap', i); execute format('insert into n%s values (1)', i); end loop; end \$\$");
	caught_up($node, $standby);
	$standby->safe_psql('postgres', "do \$\$ begin for i in 1 .. 300 loop execute format('select from n%s', i); end loop; end \$\$");
	is($standby->safe_psql('postgres', "select count(*) from zheap.zheap_stat_tables where relname like 'n%'"), '300', "round $round: a standby counts of each table");
	sql("do \$\$ begin for i in 1 .. 300 loop execute format('drop table n%s', i); end loop; end \$\$");
}
cmp_ok($standby->safe_psql('postgres', 'select count(*) from zheap.zheap_table_stats()'), '<=', 600, 'and forgets those that are dropped');
is(sql('select count(*) from zheap.zheap_table_stats()'), '0', 'as the primary does');
$standby->stop;

# ---- a worker, while the table is being extended ----

SKIP:
{
	skip 'gdb is not there, without which the lock cannot be had', 6 unless gdb();

	sql('create extension pg_visibility; create extension pg_freespacemap');
	sql("create table f (id int, pad text) using zheap; create table g (id int, pad text) using zheap");
	sql("insert into $_ select i, repeat('f', 1000) from generate_series(1, 70) i") foreach qw(f g);
	ok(wait_until(sub { sql("select count(*) from pg_visibility('f') where all_visible") eq '10' }), 'full pages are marked');

	my ($holder, $extends) = (session($node), session($node));
	my $f = sql("select 'f'::regclass::oid");

	$holder->query_safe('begin isolation level repeatable read; select 1');
	sql("insert into $_ values (71, repeat('f', 1000))") foreach qw(f g);
	# as where a page of the map is to come: once in 32 MB
	sql('checkpoint');
	unlink $node->data_dir . '/' . sql("select pg_relation_filepath('f')") . '_fsm' or die $!;
	$extends->query_safe('begin; lock table f in access share mode');
	my $debugger = gdb_attach($extends->{pid}, "call ((void (*)(void *, int)) LockRelationForExtension)(((void *(*)(unsigned, int)) relation_open)($f, 0), 7)");
	skip 'no debugger', 5 unless $debugger;
	gdb_go($debugger);
	gdb_end($debugger);
	is(sql("select count(*) from pg_locks where locktype = 'extend' and granted"), '1', 'somebody extends the table');
	$holder->query_safe('commit');
	ok(wait_until(sub { sql("select count(*) from pg_visibility('g') where all_visible") eq '11' }), 'the worker goes on with other tables');
	is(sql("select all_visible from pg_visibility_map('f', 10)"), 'f', 'and leaves the page as it is');
	$extends->query('rollback');
	ok(wait_until(sub { sql("select count(*) from pg_visibility('f') where all_visible") eq '11' }), 'until it has the lock');
	cmp_ok(sql("select avail from pg_freespace('f') where blkno = 10"), '>', 6000, 'then the free space is known');
	$_->quit foreach $holder, $extends;
}
no_crash_in_log($node, 'to the end');
no_crash_in_log($standby, 'standby');
$node->stop;
done_testing();
