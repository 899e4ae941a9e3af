# VACUUM whose memory does not hold all dead line pointers goes over the indexes several times; with more memory once, also with more than a gigabyte, of which
# one array could not be.  On each page other pointers are dead, and the second pass reads pages ahead: it frees on each those that are.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = 200_000;
# the least that is allowed, or what makes a few rounds
# (heap, too, makes a round for each page if the memory is less than a segment that workers share, which parallel VACUUM of this table shows)
my $little = pg_major() >= 17 ? '64kB' : '1MB';
my $node = new_server('rounds', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'max_parallel_maintenance_workers = 2', 'min_parallel_index_scan_size = 0' ]);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# Vacuum, and return how many rounds it made, and whether with parallel workers.
sub vacuum
{
	my ($memory, $options) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "set maintenance_work_mem = '$memory'; vacuum (verbose, index_cleanup on, $options) t");

	is($code, 0, "$memory, $options: VACUUM") or diag($err);
	my ($rounds) = $err =~ /finished vacuuming .*: index scans: (\d+)/;
	return ($rounds // -1, $err =~ /launched [1-9]\d* parallel vacuum worker/ ? 1 : 0);
}

# The sums by the table and by each index.
sub sums
{
	my $sum = 'select count(*), sum(id::int8), sum(n::int8) from t';

	return map { "$_: " . ask("set max_parallel_workers_per_gather = 0; set enable_bitmapscan = off; $_ = off; $sum where id > 0") } ('set enable_indexscan', 'set enable_seqscan');
}

foreach my $case ([ $little, 'parallel 0', 'few' ], [ $little, 'parallel 2', 'few' ], [ '3GB', 'parallel 0', 'one' ], [ '3GB', 'parallel 2', 'one' ])
{
	my ($memory, $options, $rounds) = @$case;
	my $what = "$memory, $options";

	ask(<<"SQL");
drop table if exists t;
create table t (id int primary key, n int) using zheap;
insert into t select g, hashint4(g) from generate_series(1, $rows) g;
create index t_n on t (n);
delete from t where hashint4(id) % 10 <> 0;
select pg_current_xact_id();
SQL
	my @before = sums();
	my $pages = ask("select pg_relation_size('t')");
	my $dead = $rows - ask('select count(*) from t');
	my ($made, $parallel) = vacuum($memory, $options);

	note("$what: $made rounds");
	if ($rounds eq 'one')
	{
		is($made, 1, "$what: one round");
	}
	else
	{
		cmp_ok($made, '>', 1, "$what: several rounds");
	}
	is($parallel, $options eq 'parallel 2' ? 1 : 0, "$what: workers");
	is_deeply([ sums() ], \@before, "$what: the same rows");
	is(ask("select count(*) from zheap.zheap_verify('t')"), '0', "$what: zheap_verify finds nothing");
	# all pointers are free: as many rows as there were before have room
	ask("insert into t select -g, hashint4(g) from generate_series(1, $dead) g");
	is(ask("select pg_relation_size('t')"), $pages, "$what: new rows have the room of those that are gone");
	is_deeply([ sums() ], \@before, "$what: and the others are still the same");
	is(ask('select count(*), count(distinct id) from t'), "$rows|$rows", "$what: with all of the new ones");
	is(ask("select count(*) from zheap.zheap_verify('t')"), '0', "$what: zheap_verify finds nothing then");
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
