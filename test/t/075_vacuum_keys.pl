# VACUUM removes index entries of keys that rows had before, and then the mark that they have several: under old snapshots,
# under load, on a standby; leaves that it empties are used again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seconds = short() ? 5 : 15;
my $node = new_server('keys', ['shared_buffers = 32MB', 'autovacuum = off'], allows_streaming => 1);

keys_table($node, 'k', 2000);
$node->safe_psql('postgres', <<'SQL');
create extension pageinspect;
create function entries(index text) returns bigint language sql as $$
	select sum((select coalesce(sum(coalesce(array_length(tids, 1), 1)), 0) from bt_page_items(index, b::int) i
		where i.itemoffset > 1 or (bt_page_stats(index, b::int)).btpo_next = 0))
	from generate_series(1, pg_relation_size(index) / 8192 - 1) b where (bt_page_stats(index, b::int)).type = 'l' $$;
SQL

my $plain = 'set enable_seqscan = off; set enable_bitmapscan = off; ';
my $by_index = $plain . 'select count(*), sum(n) from k where n >= 0';
my $by_bitmap = 'set enable_seqscan = off; set enable_indexscan = off; set enable_indexonlyscan = off; select count(*), sum(n) from k where n >= 0';
my $by_table = 'set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off; select count(*), sum(n) from k where n >= 0';

sub sound
{
	my ($what) = @_;

	is($node->safe_psql('postgres', "select bt_index_check('k_n', true)"), '', "$what: the index is sound");
	is($node->safe_psql('postgres', $by_index), $node->safe_psql('postgres', $by_table), "$what: an index scan has each row once");
	is($node->safe_psql('postgres', $by_bitmap), $node->safe_psql('postgres', $by_table), "$what: so has a bitmap scan");
	return;
}

# Returns entries removed, and rows that have one key again; undef: no row had several.
sub vacuum
{
	my ($options, $table) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "vacuum (verbose, $options) " . ($table // 'k'));

	is($rc, 0, 'VACUUM') or diag($err);
	return unless $err =~ /keys that rows had before: (\d+) removed, (\d+) rows have one key again/;
	return ($1, $2);
}

# Others may hold back the horizon for a moment.
sub vacuum_all
{
	my ($removed, $single) = (0, 0);

	ok(wait_until(sub {
		my @now = vacuum('index_cleanup on');
		return 1 unless @now;
		$removed += $now[0];
		$single += $now[1];
		return 0;
	}), 'all rows have one key again');
	return ($removed, $single);
}

# ---- old snapshots ----
my $old = $node->background_psql('postgres');
$node->safe_psql('postgres', 'call rounds(1, 5)');
$old->query_safe('begin isolation level repeatable read');
my $before = $old->query_safe($by_index);
$node->safe_psql('postgres', 'call rounds(6, 10)');
vacuum('index_cleanup on');
is($old->query_safe($by_index), $before, 'an old snapshot finds its rows by their old keys');
is($old->query_safe($by_bitmap), $before, 'by a bitmap as well');
sound('under an old snapshot');
$old->query_safe('commit');
my ($removed, $single) = vacuum_all();
cmp_ok($removed, '>=', 2000, 'what it needed goes afterwards');
is($single, 2000, 'and the mark of each row, once');
is($node->safe_psql('postgres', "select entries('k_n')"), 2000, 'one entry of each row is left');
sound('after VACUUM');

# a row that has lost its mark gets it again
$node->safe_psql('postgres', 'update k set n = n + 1; update k set n = n - 1');
sound('with several keys again');
vacuum('index_cleanup off');
cmp_ok($node->safe_psql('postgres', "select entries('k_n')"), '>', 2000, 'INDEX_CLEANUP OFF leaves indexes alone');
($removed, $single) = vacuum_all();
is($single, 2000, 'and loses it again');

# an update in progress, and one that is rolled back
$old->query_safe('begin; update k set n = n + 1000 where id <= 100');
vacuum('index_cleanup on');
sound('with an update in progress');
$old->query_safe('rollback');
sound('after it is rolled back');
vacuum_all();
is($node->safe_psql('postgres', "select entries('k_n')"), 2000, 'one entry of each row is left');
sound('and vacuumed');

# few rows wait
$node->safe_psql('postgres', <<'SQL');
create table w (id int, n int, pad text) using zheap;
create index w_n on w (n);
create index w_id on w (id);
insert into w select g, g, repeat('x', 400) from generate_series(1, 5000) g;
update w set n = n + 1 where id = 10;
SQL
is_deeply([ vacuum('index_cleanup auto', 'w') ], [ 0, 0 ], 'a few rows are left to the next VACUUM');
ok(wait_until(sub { my @now = vacuum('index_cleanup on', 'w'); return !@now; }), 'unless they are not to be');

# ---- leaves without entries ----
$node->safe_psql('postgres', 'update k set n = n + 1000000');
vacuum_all();
my $size = $node->safe_psql('postgres', "select pg_relation_size('k_n')");
for my $round (1 .. 12)
{
	$node->safe_psql('postgres', 'update k set n = n + 1000000');
	vacuum_all();
}
cmp_ok($node->safe_psql('postgres', "select pg_relation_size('k_n')"), '<=', 4 * $size, 'empty leaves are used again');
sound('moved through the key space');

# ---- no log, no mark lost ----
$node->safe_psql('postgres', <<'SQL');
create unlogged table u (id int primary key, n int) using zheap;
create index u_n on u (n);
insert into u select g, g from generate_series(1, 500) g;
update u set n = n + 1000;
SQL
my @unlogged;
ok(wait_until(sub { @unlogged = vacuum('index_cleanup on', 'u'); return $node->safe_psql('postgres', "select entries('u_n')") == 500; }),
	'entries of an unlogged table go');
is($unlogged[1], 0, 'its rows keep their marks');
is($node->safe_psql('postgres', "$plain select count(*) from u where n > 0"), 500, 'and are there once');

# ---- under load ----
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/pair.sql", <<'SQL');
\set a random(1, 1000)
\set d random(1, 40)
begin;
update k set n = n + :d where id = :a;
update k set n = n - :d where id = 2001 - :a;
commit;
SQL
append_to_file("$scripts/undone.sql", <<'SQL');
\set a random(1, 1000)
begin;
update k set n = n + 7 where id = :a;
rollback;
SQL
append_to_file("$scripts/read.sql", <<'SQL');
set enable_seqscan = off;
set enable_bitmapscan = off;
select 1 / (count(*) = 2000)::int from k where n > -1000000000;
set enable_bitmapscan = on;
set enable_indexscan = off;
set enable_indexonlyscan = off;
select 1 / (count(*) = 2000)::int from k where n > -1000000000;
reset all;
SQL
my $sum = $node->safe_psql('postgres', 'select sum(n) from k');
my $run = pgbench_start($node, '-c', 6, '-j', 2, '-T', $seconds, '-f', "$scripts/pair.sql\@8", '-f', "$scripts/undone.sql\@2",
	'-f', "$scripts/read.sql\@2");
my $cleared = 0;
my $rounds = 0;
while ($run->{handle}->pumpable)
{
	$run->{handle}->pump_nb;
	my @now = vacuum('index_cleanup on');
	$cleared += $now[1] if @now;
	$rounds++;
}
my ($rc, $out, $err) = pgbench_finish($run);
is($rc, 0, "pgbench beside $rounds VACUUMs, $cleared marks taken away") or diag($err);
is($node->safe_psql('postgres', 'select sum(n) from k'), $sum, 'the sum is as it was');
sound('after load');
vacuum_all();
sound('and vacuumed');

# ---- standby ----
my $standby = new_standby($node, 'standby', 'hot_standby_feedback = off', 'max_standby_streaming_delay = 100ms');
$node->safe_psql('postgres', 'update k set n = id * 1009 % 2003; update k set n = n + 10000 where n between 20 and 100');
caught_up($node, $standby);
my $reader = $standby->background_psql('postgres');
$reader->query_safe($plain . 'begin isolation level repeatable read; declare c cursor for select id from k where n > 0 order by n');
$reader->query_safe('fetch 10 from c');
# Replay of an image of a page must tell of its marks as well.  The scan has read the leaf with these entries, and a copy of no page.
$node->safe_psql('postgres', 'checkpoint');
vacuum_all();
caught_up($node, $standby);
my @ids = split /\n/, $reader->query_safe('fetch all from c');
my %seen;
$seen{$_}++ foreach @ids;
is(scalar(@ids), 1990, 'a scan on the standby that began before goes on');
is(scalar(keys %seen), 1990, 'and has each row once');
$reader->query_safe('commit');
is($standby->safe_psql('postgres', $by_index), $node->safe_psql('postgres', $by_table), 'the standby has the same rows by index');

# a snapshot that needs the entries is told
$reader->query_safe($plain . 'begin isolation level repeatable read; select count(*) from k where n > 0');
$node->safe_psql('postgres', 'update k set n = n + 100000');
vacuum_all();
caught_up($node, $standby);
ok($standby->poll_query_until('postgres', "select confl_snapshot > 0 from pg_stat_database_conflicts where datname = 'postgres'"),
	'a snapshot on the standby that needs what has gone is cancelled');

$reader->quit;
$old->quit;
$standby->stop;
$node->stop;
done_testing();
