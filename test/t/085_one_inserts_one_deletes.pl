# Writers that remove index entries (zheap.remove_dead_entries): the sessions that insert are not those that delete; there is always a
# snapshot that is a little older; a session writes to more
# tables than it can have notes of; very many rows are deleted at once.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('two', [ 'autovacuum = off', 'zheap.remove_dead_entries = on' ]);

$node->safe_psql('postgres', <<'SQL');
create extension amcheck;
create table fifo (id int primary key, n int, pad text) using zheap;
create index fifo_n on fifo (n);
create sequence ids;
SQL

my ($producer, $consumer, @readers) = map { session($node) } 1 .. 4;

# So many rows come, so many go, in a transaction each.
sub turn
{
	my ($table, $rows) = @_;

	$producer->query_safe("insert into $table select nextval('ids'), g, repeat('p', 40) from generate_series(1, $rows) g");
	$consumer->query_safe("delete from $table where id in (select id from $table order by id limit $rows)");
	return;
}

sub removed
{
	my ($table) = @_;

	counts_told($node, $producer, $consumer, @readers);
	return $node->safe_psql('postgres', "select coalesce(sum(dead_rows_removed), 0) from zheap.zheap_stat_tables where relname = '$table'");
}

sub left
{
	my ($table) = @_;

	counts_told($node, $producer, $consumer, @readers);
	return $node->safe_psql('postgres', "select coalesce(sum(dead_rows_left), 0) from zheap.zheap_stat_tables where relname = '$table'");
}

sub blocks
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "select pg_relation_size('$table') / 8192");
}

sub sound
{
	my ($what) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "select bt_index_check('fifo_pkey', true), bt_index_check('fifo_n', true)");

	is($rc, 0, "$what: indexes are sound $err");
	return;
}

# ---- one inserts, another deletes ----
turn('fifo', 300) foreach 1 .. 20;
my $before = blocks('fifo');
turn('fifo', 300) foreach 1 .. 100;
note("one inserts, one deletes: $before blocks, then " . blocks('fifo') . ', removed ' . removed('fifo'));
cmp_ok(blocks('fifo'), '<=', $before + 20, 'the table does not grow');
cmp_ok(removed('fifo'), '>=', 120 * 300 * 0.8, 'most rows are removed');
sound('one inserts, one deletes');

# Only the one that inserts removes what it prunes, where it comes: nobody has pruned the other pages, so nobody knows of their space.
$consumer->query_safe('set zheap.remove_dead_entries = off');
$before = removed('fifo');
my $left = left('fifo');
turn('fifo', 300) foreach 1 .. 60;
$left = left('fifo') - $left;
note('one inserts: removed ' . (removed('fifo') - $before) . ", left $left");
cmp_ok(removed('fifo') - $before, '>=', 1500, 'the one that inserts removes what it prunes');
cmp_ok($left, '<=', 500, 'and leaves little of it');
sound('one inserts');

# ---- the last deletion is never past ----
$consumer->query_safe('set zheap.remove_dead_entries = on');
$producer->query_safe('set zheap.remove_dead_entries = off');
$readers[1]->query_safe('begin isolation level repeatable read; select 1');
$before = removed('fifo');
foreach my $i (1 .. 60)
{
	$readers[0]->query_safe('begin isolation level repeatable read; select 1');
	turn('fifo', 300);
	$readers[1]->query_safe('commit');
	push @readers, shift @readers;
}
$readers[1]->query_safe('commit');
note('with snapshots: removed ' . (removed('fifo') - $before));
cmp_ok(removed('fifo') - $before, '>=', 60 * 300 * 0.5, 'rows are removed that no snapshot sees though the last ones are seen');
sound('with snapshots');

# ---- many tables, of which few have dead rows ----
$node->safe_psql('postgres', join(';', map { "create table log_$_ (id int primary key) using zheap" } 1 .. 12));
$before = removed('fifo');
foreach my $i (1 .. 60)
{
	$consumer->query_safe("insert into log_$_ select nextval('ids')") foreach 1 .. 12;
	turn('fifo', 300);
}
note('many tables: removed ' . (removed('fifo') - $before));
cmp_ok(removed('fifo') - $before, '>=', 60 * 300 * 0.5, 'tables of which there is nothing to note do not push out others');
sound('many tables');

# ---- many rows at once ----
$node->safe_psql('postgres', <<'SQL');
create table bulk (id int primary key, n int, pad text) using zheap;
create index bulk_n on bulk (n);
create index bulk_both on bulk (n, id);
insert into bulk select g, hashint4(g), repeat('p', 40) from generate_series(1, 40000) g;
SQL
$consumer->query_safe('delete from bulk');
$consumer->query_safe('insert into bulk values (-1, 1, 1)');
foreach my $i (1 .. 150)
{
	$consumer->query_safe("insert into bulk select nextval('ids')");
}
note('many rows at once: removed ' . removed('bulk'));
# 150 transactions pay for 1,200 looks at pages, and there are 2,048 saved up; a look is for a row or some
cmp_ok(removed('bulk'), '<=', 10000, 'not every transaction has a batch');
cmp_ok(removed('bulk'), '>=', 200, 'but some have');

$_->quit foreach $producer, $consumer, @readers;
$node->stop;
done_testing();
