# Blocks asked for ahead: by index scans, backward and parallel scans, VACUUM, rollback; what is read stays the same.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

# far fewer buffers than pages, so that each scan reads them anew
my $node = new_server('prefetch', ['shared_buffers = 1MB', 'autovacuum = off', 'zheap.undo_workers = 0', 'max_parallel_workers_per_gather = 0',
	'enable_bitmapscan = off', 'enable_indexonlyscan = off', 'jit = off']);
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, k int, pad text) using zheap;
create table h (like t);
insert into h select g, g * 7919 % 20011, repeat('x', 400) from generate_series(1, 20000) g;
insert into t table h;
create index on t (k);
create index on h (k);
create index on t (id, k);
vacuum analyze t, h;
SQL

# counters of one kind of reader after a statement that begins at zero
sub after
{
	my ($reader, $sql, $distance) = @_;
	$distance //= 32;
	$node->safe_psql('postgres', 'select zheap.zheap_stat_io_reset()');
	my $answer = $node->safe_psql('postgres', "set effective_io_concurrency = $distance; set maintenance_io_concurrency = $distance; $sql");
	my %io;
	@io{qw(advised cached hit missed distance)} = split /\|/,
		$node->safe_psql('postgres', "select advised, cached, hit, missed, coalesce(distance, 0) from zheap.zheap_stat_io where reader = '$reader'");
	return ($answer, \%io);
}

# From 17 on sequential scans and VACUUM read through the server's streams, which advise the kernel, and nothing is counted.
my $streams = $node->safe_psql('postgres', 'show server_version_num') >= 170000;
sub asked_for
{
	my ($io, $least, $name) = @_;
	return $streams ? is($io->{advised}, 0, "$name, by the server") : cmp_ok($io->{advised}, '>', $least, $name);
}

sub on_heap { my ($sql) = @_; $sql =~ s/\bt\b/h/g; return $node->safe_psql('postgres', $sql); }

my ($answer, $io);
# an index whose order is not the table's
my $query = 'set enable_seqscan = off; select md5(string_agg(id::text, \',\')) from (select id from t where k between 1000 and 6000 order by k) s';
my $right = on_heap($query);
($answer, $io) = after('index scan', $query);
is($answer, $right, 'an index scan with look-ahead');
cmp_ok($io->{advised}, '>', 800, 'blocks are asked for');
cmp_ok($io->{missed}, '<', 300, 'and few read that were not');
cmp_ok($io->{distance}, '>', 16, 'far ahead');
($answer, $io) = after('index scan', $query, 1);
is($answer, $right, 'one block ahead');
cmp_ok($io->{distance}, '==', 1, 'no further than the setting says');
($answer, $io) = after('index scan', $query, 0);
is($answer, $right, 'without');
is($io->{advised}, 0, 'nothing is asked for');
# the other direction
(my $down = $query) =~ s/order by k/order by k desc/;
$right = on_heap($down);
($answer, $io) = after('index scan', $down);
is($answer, $right, 'backward');
cmp_ok($io->{advised}, '>', 800, 'backward, too');
# to and fro
my $cursor = 'set enable_seqscan = off; begin; declare c scroll cursor for select id from t where k between 1000 and 6000 order by k; '
	. join(' ', map { "fetch forward 90 from c; fetch backward 70 from c;" } 1 .. 40) . ' commit';
$right = on_heap($cursor);
($answer, $io) = after('index scan', $cursor);
is($answer, $right, 'a cursor that turns often');
# who wants one row asks for nothing
($answer, $io) = after('index scan', join(';', 'set enable_seqscan = off', map { "select id from t where k > $_ order by k limit 1" } map { 97 * $_ } 1 .. 100));
is($io->{advised}, 0, 'single rows: nothing is asked for');
# the inner side of a nested loop with several rows each
my $loop = 'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;'
	. ' select count(*), sum(t.id) from generate_series(0, 190) g join t on t.k between g * 100 and g * 100 + 20';
$right = on_heap($loop);
($answer, $io) = after('index scan', $loop);
is($answer, $right, 'nested loop');
cmp_ok($io->{advised}, '>', 1000, 'looks ahead in each scan of the inner side');
# all cached
$node->safe_psql('postgres', 'create table small (id int primary key, k int) using zheap; insert into small select g, -g from generate_series(1, 2000) g; vacuum analyze small');
($answer, $io) = after('index scan', join(';', 'set enable_seqscan = off', ('select sum(k) from small where id > 0') x 10));
cmp_ok($io->{advised} + $io->{cached}, '<', 40, 'cached: next to nothing is asked for');

# a unique check reads the table with a page of the index locked: it must not ask for anything
is($node->safe_psql('postgres', 'with i as (insert into t select id, 0, \'\' from h where id % 7 = 0 on conflict (id) do nothing returning 1) select count(*) from i'), 0, 'conflicts');
foreach my $id (map { 13 * $_ } 1 .. 60)
{
	my ($rc, $out, $err) = $node->psql('postgres', "insert into t values ($id, 0, '')");

	isnt($rc, 0, "$id is there already") or last;
}

# sequential scans
my $all = 'set enable_indexscan = off; begin; declare c scroll cursor for select id from t; move all in c; fetch backward all from c; commit';
$right = on_heap($all);
($answer, $io) = after('sequential scan', $all);
is($answer, $right, 'backward');
asked_for($io, 800, 'backward: asked for');
is(on_heap('select count(*), sum(id) from t'), (after('sequential scan', 'select count(*), sum(id) from t'))[0], 'forward');
my $parallel = 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;'
	. ' select count(*), sum(id), sum(length(pad)) from t';
$right = on_heap($parallel);
($answer, $io) = after('sequential scan', $parallel);
is($answer, $right, 'parallel');
# a range of TIDs, and a table that grows and shrinks below a cursor
my $range = q{begin; declare c scroll cursor for select id from t where ctid >= '(100,0)' and ctid < '(900,0)'; move all in c; fetch backward all from c; commit};
($answer, $io) = after('sequential scan', $range);
is(scalar(split /\n/, $answer), $node->safe_psql('postgres', q{select count(*) from t where ctid >= '(100,0)' and ctid < '(900,0)'}), 'a range of TIDs, backward');

# a scan that changes its direction again and again returns each row again, in the other order
foreach my $where ('true', q{ctid >= '(100,0)' and ctid < '(900,0)'})
{
	my @rows = split /\n/, $node->safe_psql('postgres', "select id from t where $where order by ctid");
	my ($at, @fetches, @expected) = (-1);

	foreach my $turn (1 .. 12)
	{
		my ($on, $back) = (900 + 61 * $turn, 700 + 41 * $turn);

		push @fetches, "fetch $on from c", "fetch backward $back from c";
		push @expected, @rows[$at + 1 .. $at + $on], reverse @rows[$at + $on - $back .. $at + $on - 1];
		$at += $on - $back;
	}
	is($node->safe_psql('postgres', "set enable_indexscan = off; set synchronize_seqscans = off; begin; declare c scroll cursor for select id from t where $where;" . join(';', @fetches) . '; commit'),
		join("\n", @expected), "a sequential scan that turns often, where $where");
}

# rollback: pages in the order of the undo log
$node->safe_psql('postgres', 'begin; set enable_seqscan = off; update t set pad = reverse(pad) || id from (select id i from h order by k) s where t.id = s.i and s.i % 20 = 0; rollback');
($answer, $io) = after('rollback', 'vacuum zheap.undo');
cmp_ok($io->{advised}, '>', 300, 'rollback asks for pages');
is($node->safe_psql('postgres', q{select count(*) from t where pad <> repeat('x', 400)}), '0', 'all rolled back');

# VACUUM's second pass
$node->safe_psql('postgres', 'delete from t where id % 40 = 0; delete from h where id % 40 = 0');
($answer, $io) = after('vacuum', 'vacuum t');
asked_for($io, 300, 'VACUUM asks for pages');
is($node->safe_psql('postgres', 'select count(*), sum(k) from t'), $node->safe_psql('postgres', 'select count(*), sum(k) from h'), 'rows');

$node->stop;
done_testing();
