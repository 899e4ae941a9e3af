# zheap_verify() finds nothing wrong with indexes, of rows or of entries, whatever goes on beside it: updates of indexed columns, rollbacks,
# savepoints, insertions in doubt, line pointers that become other rows' with the same keys, VACUUM, REINDEX, workers, old snapshots, a standby.
# How long it goes on is counted in transactions and looks.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('indexed',
	[ 'autovacuum = off', 'max_standby_streaming_delay = -1' ], allows_streaming => 1);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

my $all = 'select * from zheap.zheap_verify_all()';

# trees: sessions remove dead entries themselves; kinds: VACUUM does
ask(<<'SQL');
create sequence trees_done;
create sequence kinds_done;
create table trees (id int primary key, n int, m int, v text) using zheap with (fillfactor = 70);
create index trees_n on trees (n);
create index trees_m_n on trees (m, n);
create index trees_v on trees (v) include (id);
create table kinds (id int primary key, n int, u int unique deferrable, v text, h int, p point, a int[], w tsvector, t text) using zheap with (fillfactor = 70);
create index kinds_n on kinds (n);
create index kinds_brin on kinds using brin (n, h) with (pages_per_range = 1, autosummarize = off);
create index kinds_bloom on kinds using brin (v text_bloom_ops, h int4_minmax_multi_ops) with (pages_per_range = 2);
create index kinds_lower on kinds (lower(v)) where n % 2 = 0;
create index kinds_h on kinds using hash (h);
create index kinds_v on kinds using hash (v);
create index kinds_gist on kinds using gist (p);
create index kinds_spgist on kinds using spgist (p);
create index kinds_text on kinds using spgist (t);
create index kinds_a on kinds using gin (a);
create index kinds_w on kinds using gin (w) with (fastupdate = off);
insert into trees select g, g % 50, g % 10, 'v' || g from generate_series(1, 600) g;
insert into kinds select g, g % 50, g, 'v' || g % 40, g % 70, point(g % 30, g % 20), array[g % 30, g % 7], to_tsvector('simple', 'a' || g % 30), nullif(repeat('t', g % 5), '')
  from generate_series(1, 600) g;
SQL

my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/trees.sql", <<'SQL');
\set id random(1, 600)
\set n random(1, 50)
begin;
update trees set n = :n where id = least(:id, 600 - :n);
savepoint a;
update trees set n = :n + 1, m = m + 1 where id = :id;
rollback to a;
update trees set m = :n where id = :id;
commit;
begin;
update trees set n = n + 1 where id between :id and :id + 3;
rollback;
-- the same key again and again, wherever there is room
delete from trees where id = 1000 + :n;
insert into trees values (1000 + :n, 7, 7, 'same') on conflict (id) do update set n = trees.n + 1;
update trees set v = 'v' || :n where id = 1000 + :n;
select nextval('trees_done');
SQL
append_to_file("$dir/kinds.sql", <<'SQL');
\set id random(1, 600)
\set n random(1, 50)
begin;
update kinds set n = :n where id = :id;
savepoint a;
update kinds set h = :n, v = 'w' || :n where id = :id;
rollback to a;
commit;
update kinds set p = point(:n, :n), a = array[:n, :n + 1] where id = least(:id, 600 - :n);
update kinds set t = repeat('u', :n % 6), w = to_tsvector('simple', 'b' || :n), h = null where id = least(:id + 7, 600 - :n);
begin;
insert into kinds (id, n, v, h, p, a) values (3000 + :id, :n, 'gone', :n, point(0, :n), array[:n]) on conflict (id) do nothing;
rollback;
delete from kinds where id = 1000 + :n;
insert into kinds values (1000 + :n, 7, 1000 + :n, 'same', 7, point(7, 7), array[7], 'seven', 'seven') on conflict (id) do update set n = kinds.n + 1, v = 'conflict';
select nextval('kinds_done');
SQL
append_to_file("$dir/vacuum.sql", "vacuum (index_cleanup on) kinds;\n");

is(ask($all), '', 'nothing is wrong at first');
my $standby = new_standby($node, 'standby');
my $old = session($node);
my $late = session($standby);
$old->query_safe('begin');
$late->query_safe('begin');
my @loads = map { pgbench_start($node, '-T', 10000, '--max-tries', 1000, '-c', $_->[1], '-f', "$dir/$_->[0].sql") } [ 'trees', 2 ], [ 'kinds', 2 ], [ 'vacuum', 1 ];
my $looks = short() ? 4 : 15;
for my $i (1 .. $looks)
{
	my $goal = $i * (short() ? 50 : 200);

	if ($i % 3 == 1)
	{
		# a snapshot, and no lock that REINDEX would wait for
		my $begin = 'commit; begin isolation level repeatable read; select 1';

		$_->query_safe($begin) foreach $old, $late;
	}
	if ($i % 4 == 2)
	{
		# this one waits for old snapshots
		$old->query_safe('commit; begin');
		ask('reindex index concurrently kinds_n');
	}
	ask('reindex index trees_m_n; reindex index kinds_h') if $i % 4 == 3;
	ask('vacuum (index_cleanup on) trees') if $i % 4 == 0;
	ask("select brin_desummarize_range('kinds_brin', 0), brin_summarize_new_values('kinds_brin')") if $i % 4 == 0;
	is(ask($all), '', "nothing is wrong, look $i");
	is($old->query_safe($all), '', "nor for an old snapshot, look $i");
	is($late->query_safe($all), '', "nor for one on a standby, look $i");
	is($standby->safe_psql('postgres', $all), '', "nor for a new one there, look $i");
	ok(wait_until(sub { ask('select least((select last_value from trees_done), (select last_value from kinds_done))') >= $goal }), "the load has gone on, look $i");
}
foreach my $load (@loads)
{
	my ($rc, undef, $err) = pgbench_stop($load);

	is($rc, 0, 'the load met no error') or diag($err);
}
$_->quit foreach $old, $late;
wait_undone($node, 'all is rolled back');
is(ask($all), '', 'nothing is wrong behind it');
ask('vacuum (index_cleanup on)');
is(ask($all), '', 'nor when VACUUM has come by');
caught_up($node, $standby);
is($standby->safe_psql('postgres', $all), '', 'nor on the standby');
btrees_agree($node, 'trees', 'trees_n', 'trees_m_n');
$standby->stop;

# ---- temporary and unlogged tables; what a transaction sees of itself; other access methods ----

ask('create extension bloom');
my ($rc, $out, $err) = $node->psql('postgres', <<'SQL');
create temporary table x (id int primary key, n int, p point, a int[]) using zheap;
create index on x (n); create index on x using gist (p); create index on x using gin (a); create index on x using hash (n); create index on x using brin (n);
create index x_bloom on x using bloom (n);
begin;
insert into x select g, g, point(g, g), array[g] from generate_series(1, 300) g;
savepoint a;
update x set n = n + 1, id = id + 1000 where n % 3 = 0;
update x set p = null, a = null, n = null where n % 5 = 0;
select 'inside', * from zheap.zheap_verify('x');
rollback to a;
select 'rolled back', * from zheap.zheap_verify('x');
update x set n = n + 1;
commit;
select 'behind', * from zheap.zheap_verify('x');
create unlogged table y (id int primary key, n int) using zheap;
create index on y (n);
insert into y select g, g from generate_series(1, 300) g;
update y set n = n + 1;
begin; update y set n = n + 2; rollback;
select 'unlogged', * from zheap.zheap_verify('y');
create table empty (id int primary key, n int, p point, a int[]) using zheap;
create index on empty (n); create index on empty using gist (p); create index on empty using spgist (p); create index on empty using gin (a);
create index on empty using hash (n); create index on empty using brin (n);
select 'empty', * from zheap.zheap_verify('empty');
set gin_fuzzy_search_limit = 1;
set maintenance_work_mem = '1MB';
select 'limits', * from zheap.zheap_verify('kinds');
select current_setting('gin_fuzzy_search_limit');
SQL
is("$rc|$out", '0|1', 'nothing is wrong with other tables');
like($err, qr/NOTICE: +index "x_bloom" is not checked\nDETAIL: +Its access method is "bloom"/, 'a NOTICE names an index that is not checked');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
