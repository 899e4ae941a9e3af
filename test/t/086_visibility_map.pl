# The visibility map: VACUUM marks pages whose rows everybody sees, changes take the marks back, index-only scans rely on them.
# Also after a crash, on a standby, beside snapshots from before, with rows that have several keys, and where the map is damaged.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary',
	[ 'autovacuum = off', 'zheap.undo_workers = 0', 'wal_consistency_checking = zheap', 'max_prepared_transactions = 2', 'wal_keep_size = 1GB', 'zheap.remove_dead_entries = on' ],
	allows_streaming => 1);
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = 100ms', 'hot_standby_feedback = off');

$node->safe_psql('postgres', 'create extension pg_visibility');

sub sql
{
	return $node->safe_psql('postgres', "set client_min_messages = warning; $_[0]");
}

# How many pages the map and the pages themselves call all-visible; they agree, on both servers.
sub visible
{
	my ($table) = @_;
	my $query = "select count(*) filter (where all_visible), count(*) filter (where all_visible <> pd_all_visible or all_visible <> all_frozen) from pg_visibility('$table')";
	my ($pages, $wrong) = split /\|/, sql($query);

	is($wrong, 0, "$table: map and pages agree");
	if (sql("select relpersistence from pg_class where oid = '$table'::regclass") eq 'p')
	{
		caught_up($node, $standby);
		is($standby->safe_psql('postgres', $query), "$pages|0", "$table: so do they on the standby");
	}
	return $pages;
}

sub pages
{
	return sql("select pg_relation_size('$_[0]') / 8192");
}

# A page whose line pointers VACUUM frees is marked by the next one, when no scan from before is left.
sub vacuum_all
{
	sql("vacuum (index_cleanup on) $_[0]");
	sql('create table a_transaction (id int); drop table a_transaction');
	sql("vacuum $_[0]");
	return;
}

# The answer of an index-only scan, and how often it went to the table.
sub index_only
{
	my ($query, $session) = @_;
	my $set = 'set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off;';
	my $run = $session ? sub { $session->query_safe($_[0]) } : sub { sql($_[0]) };
	my $answer = $run->("$set $query");
	my ($fetches) = $run->("$set explain (analyze, costs off, timing off, summary off) $query") =~ /Heap Fetches: (\d+)/;

	return ($answer, $fetches // 'none');
}

sub sums
{
	return index_only('select count(*), sum(id) from t where id > 0', $_[0]);
}

# ---- what is marked ----

sql(<<'SQL');
create table t (id int primary key, n int, pad text) using zheap;
insert into t select g, g, repeat('p', 60) from generate_series(1, 20000) g;
SQL
is(visible('t'), 0, 'nothing is marked before VACUUM');
sql('vacuum (index_cleanup on) t');
my $all = pages('t');
cmp_ok($all, '>', 100, 'the table has many pages');
is(visible('t'), $all, 'VACUUM marks all pages');
is(sql("select relallvisible from pg_class where relname = 't'"), $all, 'pg_class says so');
is_deeply([ sums() ], [ '20000|200010000', 0 ], 'an index-only scan reads no page of the table');

# ---- what takes the mark back ----

# Statement, pages that lose their mark, rows and sum afterwards.
foreach my $case (
	[ 'update t set n = -n where id = 10', 1, '20000|200010000' ],
	[ 'begin; update t set n = -n where id = 5000; rollback', 1, '20000|200010000' ],
	[ 'delete from t where id = 10000', 1, '19999|200000000' ],
	[ 'begin; select * from t where id = 12345 for update; commit', 0, '19999|200000000' ],
	[ 'begin; select * from t where id = 12345 for key share; rollback', 0, '19999|200000000' ],
	[ "update t set pad = repeat('q', 3000) where id = 15000", 1, '19999|200000000' ],
	[ "begin; update t set id = id + 100000 where id = 18000; prepare transaction 'p'; rollback prepared 'p'", 1, '19999|200000000' ])
{
	my ($statement, $lost, $sums) = @$case;
	my $before = visible('t');

	sql($statement);
	# a row that moves goes to another page, perhaps a new one
	my $now = visible('t');
	cmp_ok($before - $now, '>=', $lost, "marks are taken back by: $statement");
	cmp_ok($before - $now, '<=', $lost == 0 ? 0 : $lost + 1, 'and no more');
	my ($answer, $fetches) = sums();
	is($answer, $sums, 'an index-only scan gives the right rows');
	cmp_ok($fetches, '>', 0, 'and visits the table for those of that page') if $lost;
}

sql("insert into t select g, 0, 'x' from generate_series(20001, 20300) g");
sql('insert into t values (20301) on conflict do nothing');
sql('insert into t values (1) on conflict (id) do update set n = 77');
sql("copy t (id) from program 'seq 20302 20400'");
is((sums())[0], sql('select count(*), sum(id) from t'), 'after insertions the index-only scan agrees with the table');

sql('vacuum (index_cleanup on) t');
cmp_ok(visible('t'), '<', pages('t'), 'VACUUM does not mark pages whose line pointers it has freed');
sql('create table a_transaction (id int); drop table a_transaction');
sql('vacuum t');
is(visible('t'), pages('t'), 'the next one does');
is((sums())[1], 0, 'and the scan visits none');

# ---- a snapshot from before ----

my $old = session($node);
$old->query_safe('begin isolation level repeatable read; select count(*) from t where id < 0');
my ($before) = sums($old);
sql('delete from t where id between 100 and 200; update t set n = 5 where id = 300; vacuum t');
my $marked = visible('t');
cmp_ok($marked, '<', pages('t'), 'pages with rows that a snapshot sees otherwise are not marked');
is((sums($old))[0], $before, 'which sees what it saw');
my ($now) = sums();
isnt($now, $before, 'others see the change');
$old->query_safe('commit');
vacuum_all('t');
is(visible('t'), pages('t'), 'when it has ended they are');
is_deeply([ sums() ], [ $now, 0 ], 'and index-only scans go by that');

# ---- VACUUM reads what has changed ----

sub scanned
{
	my ($options) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "vacuum ($options) t");

	return $err =~ /(\d+) scanned/ ? $1 : "nothing: $err";
}
is(scanned('verbose'), 0, 'VACUUM of a table that has not changed reads none of its pages');
is(sql("select abs(reltuples - (select count(*) from t)) < 1000 from pg_class where relname = 't'"), 't', 'and knows about how many rows there are');
sql('update t set n = 6 where id = 7000');
is(scanned('verbose'), 1, 'after a change it reads that page');
is(scanned('verbose, disable_page_skipping'), pages('t'), 'or all, if it is told so');
my $lsn = $node->lsn('insert');
sql('vacuum (index_cleanup on) t');
cmp_ok(sql("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$lsn')"), '<', 20_000, 'VACUUM of an unchanged table writes next to no WAL');

# ---- rows with several keys ----

sql(<<'SQL');
create table k (id int primary key, n int, pad text) using zheap with (fillfactor = 70);
create index k_n on k (n);
insert into k select g, g, repeat('k', 30) from generate_series(1, 3000) g;
vacuum k;
SQL
sub by_n
{
	return index_only('select count(*), sum(n) from k where n > 0', $_[0]);
}
sql('update k set n = n + 10000 where id % 10 = 0');
is((by_n())[0], '3000|7501500', 'index-only: each row once, by its new key');
is(visible('k'), 0, 'pages with rows that have several keys are not marked');

# A scan that has read an entry which VACUUM then removes, on a snapshot that sees the new key.
my $cursor = session($node);
$cursor->query_safe('set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off; begin isolation level repeatable read');
$cursor->query_safe('declare c cursor for select n from k where n > 0 order by n');
is($cursor->query_safe('fetch 5 from c'), "1\n2\n3\n4\n5", 'a cursor stands on a leaf with old keys');
sql('vacuum (index_cleanup on) k');
sql('create table another (id int) using zheap');	# a transaction
sql('vacuum k');
my @rest = split /\n/, $cursor->query_safe('fetch all from c');
is(scalar(@rest), 2995, 'the cursor returns no row by an entry that is gone');
is(scalar(grep { $_ < 10000 && $_ % 10 == 0 } @rest), 0, 'each by its new key');
$cursor->query_safe('commit');
sql('drop table another');
sql('vacuum k');
is(visible('k'), pages('k'), 'when no such scan is left pages whose rows have one key again are marked');
is_deeply([ by_n() ], [ '3000|7501500', 0 ], 'index-only scans go by that');

# ---- other kinds of tables ----

foreach my $kind ('temporary', 'unlogged')
{
	my $name = "t_$kind";

	is( sql(<<"SQL"), "0\nt", "$kind table: marked and taken back");
create $kind table $name (id int primary key, n int) using zheap;
insert into $name select g, g from generate_series(1, 2000) g;
vacuum $name;
select count(*) filter (where not all_visible) from pg_visibility('$name');
update $name set n = 0 where id = 1000;
select count(*) filter (where not all_visible) = 1 and count(*) filter (where all_visible <> pd_all_visible) = 0 from pg_visibility('$name');
SQL
}

# ---- a standby's snapshots ----

my $reader = session($standby);
$reader->query_safe('begin isolation level repeatable read');
my ($there) = sums($reader);
sql('vacuum (disable_page_skipping) t');
caught_up($node, $standby);
is((sums($reader))[0], $there, 'what was all-visible long ago cancels no snapshot on a standby');
sql('insert into t select g from generate_series(30001, 30500) g');
$node->safe_psql('postgres', 'vacuum t');
my $pages_before = visible('t');
is($pages_before, pages('t'), 'new rows are all-visible on both');
ok($standby->poll_query_until('postgres', "select confl_snapshot > 0 from pg_stat_database_conflicts where datname = 'postgres'"),
	'a snapshot that does not see rows which became all-visible is cancelled');
eval { $reader->quit };
is((index_only('select count(*), sum(id) from t where id > 0'))[0], sql('select count(*), sum(id) from t'), 'the primary agrees with its table');
is($standby->safe_psql('postgres', 'set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id) from t where id > 0'),
	(sums())[0], 'and the standby with it');

# ---- crashes ----

sql('checkpoint; update t set n = 8 where id % 1000 = 0; vacuum t');
$marked = visible('t');
sql("update t set n = 9 where id = 4000; update t set pad = repeat('z', 2000) where id = 6000");
my $left = visible('t');
$node->stop('immediate');
$node->start;
is(visible('t'), $left, 'after a crash map and pages are as they were');
is((sums())[0], sql('select count(*), sum(id) from t'), 'and index-only scans right');
vacuum_all('t');
is(visible('t'), pages('t'), 'VACUUM marks the rest');

# ---- the map is gone, or wrong ----

sql("select pg_truncate_visibility_map('t')");
is((sums())[0], sql('select count(*), sum(id) from t'), 'without a map scans visit the table');
sql('update t set n = 1 where id = 1; delete from t where id = 2');
vacuum_all('t');
is(visible('t'), pages('t'), 'VACUUM makes it anew');
sql('delete from t where id > 5000');
vacuum_all('t');
is(visible('t'), pages('t'), 'the map is cut off with the table');
is((sums())[0], sql('select count(*), sum(id) from t'), 'which scans agree with');

no_crash_in_log($node, 'primary');
no_crash_in_log($standby, 'standby');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'replay gives the same pages');
$standby->stop;
$node->stop;
done_testing();
