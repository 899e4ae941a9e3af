# Entries of an index are marked as dead only if a crash cannot bring the rows back: with synchronous_commit = off others see a
# deletion before its commit is on disk, and a page of an index may get there first.  Heap is as careful where nothing else has
# changed the page since; otherwise it relies on the page, whose record came later, though the index's page does not wait for that.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('asynchronous', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'synchronous_commit = off', 'checkpoint_timeout = 1h', 'bgwriter_lru_maxpages = 0', 'zheap.skip_dead_entries = off' ]);

$node->safe_psql('postgres', 'create extension pageinspect');
my $wal_writer = $node->safe_psql('postgres', "select pid from pg_stat_activity where backend_type = 'walwriter'");

# Entries of the index's only leaf that are marked.
sub marked
{
	my ($index) = @_;

	return $node->safe_psql('postgres', "select count(*) from bt_page_items('$index', 1) where dead");
}

# Twice: the first one may find that the row is dead to all a moment too late.
sub scan
{
	my ($table) = @_;

	is($node->safe_psql('postgres', "set enable_seqscan = off; set enable_bitmapscan = off; select count(*) from $table where id between 1 and 70"), 60, "$table: 60 rows are left") for 1 .. 2;
	return;
}

sub is_flushed
{
	return $node->safe_psql('postgres', 'select pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()') eq 't';
}

# What comes after the deletion: nothing; so many others change the page that its slots are taken over; the page is pruned.
my %then = (
	named => '',
	forgotten => join('', map { "update TABLE set v = v + 1 where id = $_;" } 61 .. 90),
	# more rows than the page has room for
	pruned => "insert into TABLE select g, 0, repeat('p', 60) from generate_series(1001, 1200) g;");

foreach my $am ('heap', 'zheap')
{
	foreach my $case ($am eq 'heap' ? ('named') : sort keys %then)
	{
		my $table = "${am}_$case";
		my $after = $then{$case} =~ s/TABLE/$table/gr;

		kill 'CONT', $wal_writer;
		$node->safe_psql('postgres', "create table $table (id int primary key, v int, pad text) using $am; insert into $table select g, 0, repeat('p', 60) from generate_series(1, 70) g; vacuum $table; set synchronous_commit = on; update $table set v = 0 where id = 70");
		kill 'STOP', $wal_writer;
		$node->safe_psql('postgres', "delete from $table where id <= 10");
		$node->safe_psql('postgres', $_) foreach split /;/, $after;
		ok(!is_flushed(), "$table: what deletes rows is not on disk");
		scan($table);
		ok(!is_flushed(), "$table: nor is it now");
		is(marked("${table}_pkey"), 0, "$table: no entry is marked as dead");
		$node->safe_psql('postgres', "set synchronous_commit = on; create table other_$table ()");
		ok(is_flushed(), "$table: now it is");
		scan($table);
		is(marked("${table}_pkey"), 10, "$table: entries are marked");
	}
}
# Parts of one transaction have taken over each other's slots, and only their changes of the page are on disk.
{
	kill 'CONT', $wal_writer;
	$node->safe_psql('postgres', "create table parts (id int primary key, v int, pad text) using zheap; insert into parts select g, 0, repeat('p', 60) from generate_series(1, 70) g; insert into parts select g, 0, repeat('p', 60) from generate_series(1001, 1100) g; delete from parts where id > 1000 and ctid >= '(1,0)'");
	$node->safe_psql('postgres', 'vacuum parts');
	kill 'STOP', $wal_writer;
	my $session = session($node);

	$session->query_safe('begin');
	$session->query_safe("savepoint s; delete from parts where id = $_; release s") foreach 1 .. 10;
	$node->safe_psql('postgres', 'set synchronous_commit = on; create table other_parts ()');
	$session->query_safe('commit');
	$session->quit;
	cmp_ok($node->safe_psql('postgres', "select count(*) from zheap.zheap_page_items('parts', 0) where lp <= 10 and 'reused' = any (flags)"), '>', 3, 'parts: rows have lost their slots');
	ok(!is_flushed(), 'parts: the commit is not on disk');
	scan('parts');
	is(marked('parts_pkey'), 0, 'parts: no entry is marked as dead');
	$node->safe_psql('postgres', 'set synchronous_commit = on; create table another_parts ()');
	scan('parts');
	is(marked('parts_pkey'), 10, 'parts: entries are marked');
}

kill 'CONT', $wal_writer;
no_crash_in_log($node, 'asynchronous');
$node->stop;
done_testing();
