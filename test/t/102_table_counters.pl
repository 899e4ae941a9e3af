# What zheap_stat_tables counts of pages and versions: each counter has what was provoked, and nothing else. Slots and the pages for
# more of them are compared with what the pages show.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('counters', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'max_prepared_transactions = 600',
		'max_parallel_workers_per_gather = 0', 'synchronize_seqscans = off' ]);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# The counters of a table that are not zero, since the last call; read in the given session, if it has a transaction that has
# counted, but not ended.
my @living;						# sessions
my @counters = qw(slots_added slots_reused overflow_pages_added lock_pages_added pages_rolled_back rows_rolled_back pages_copied versions_walked);
sub counted
{
	my ($table, $session) = @_;
	my $ask = $session ? sub { $session->query_safe($_[0]) } : \&ask;

	counts_told($node, @living);
	my @now = split /\|/, $ask->("select " . join(', ', @counters) . " from zheap.zheap_stat_tables where relname = '$table'");
	$ask->("select zheap.zheap_stat_tables_reset('$table'::regclass)");
	return join(' ', map { $now[$_] ? "$counters[$_] $now[$_]" : () } 0 .. $#now);
}

sub make
{
	my ($table, $rows, $pad) = @_;

	ask("create table $table (id int primary key, n int, pad text) using zheap; insert into $table select g, 0, repeat('x', $pad) from generate_series(1, $rows) g");
	return ask("select pg_relation_size('$table') / current_setting('block_size')::int");
}

# ---- pages that readers copy ----

my $pages = make('t', 1000, 100);
cmp_ok($pages, '>', 10, "a table of $pages pages");
is(ask("select count(*) from zheap.zheap_stat_tables where relname = 't'"), '0', 'insertions count as nothing');
ask('select count(*) from t');
is(counted('t'), "pages_copied $pages", 'a scan copies each page');
ask('set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; set max_parallel_workers_per_gather = 2; select count(*) from t');
is(counted('t'), "pages_copied $pages", 'a parallel one as well, all processes together');
ask('begin; select count(*) from t; rollback');
is(counted('t'), "pages_copied $pages", 'in a transaction that is rolled back');
ask('set enable_seqscan = off; set enable_bitmapscan = off; select n from t where id = 500');
is(counted('t'), '', 'one row by an index costs no copy');
ask('vacuum (disable_page_skipping) t');
is(counted('t'), '', 'VACUUM is no reader');
my $temporary = ask('create temporary table mine (id int) using zheap; insert into mine select generate_series(1, 100); select count(*) from mine; ' . "select count(*) from zheap.zheap_stat_tables where relname = 'mine'");
is($temporary, "100\n0", 'temporary tables are not counted');

# ---- versions that are reconstructed ----

is(make('v', 20, 10), '1', 'a table of one page');
my $old = session($node);
push @living, $old;
$old->query_safe('begin isolation level repeatable read; select 1');
ask('update v set n = n + 1 where id <= 10') foreach 1 .. 3;
counted('v');
is($old->query_safe('select sum(n), count(*) from v'), '0|20', 'an old snapshot reads');
is(counted('v', $old), 'pages_copied 1 versions_walked 30', 'three versions of each of ten rows');
$old->query_safe('select sum(n), count(*) from v');
is(counted('v', $old), 'pages_copied 1 versions_walked 30', 'and once more');
$old->query_safe('set enable_seqscan = off; set enable_bitmapscan = off');
$old->query_safe('select n from v where id = 3');
like(counted('v', $old), qr/versions_walked 3$/, 'three of one row by its index');
ask('select sum(n) from v');
is(counted('v'), 'pages_copied 1', 'a new snapshot reconstructs nothing');
$old->query_safe('commit');

my $writer = session($node);
push @living, $writer;
$writer->query_safe('begin; update v set n = 100 where id <= 10');
counted('v', $writer);
is(ask('select sum(n) from v'), '30', 'beside an update in progress');
is(counted('v'), 'pages_copied 1 versions_walked 10', 'one version of each row');
$writer->query_safe('rollback');
is(ask('select sum(n) from v'), '30', 'after its rollback');
is(counted('v'), 'pages_copied 1 versions_walked 10', 'the same, as long as nobody rolls back');

# ---- rolling back ----

ask('vacuum v');
is(counted('v'), 'pages_rolled_back 1 rows_rolled_back 10', 'VACUUM rolls the rows back');
ask('vacuum v; select sum(n) from v');
is(counted('v'), 'pages_copied 1', 'once');
ask('begin; delete from v where id <= 6; rollback');
counted('v');
ask('update v set n = n where id = 3');
like(counted('v'), qr/^pages_rolled_back 1 rows_rolled_back 6\b/, 'a writer rolls back the page of the row that it needs');
ask("begin; insert into v select g, 0, 'x' from generate_series(101, 104) g; rollback");
ask('vacuum v');
is(counted('v'), 'pages_rolled_back 1 rows_rolled_back 4', 'rows that were inserted');
ask('begin; savepoint a; update v set n = 7 where id <= 5; rollback to a; commit');
counted('v');
ask('vacuum v');
is(counted('v'), 'pages_rolled_back 1 rows_rolled_back 5', 'what a savepoint has undone');
ask('update t set n = 1; vacuum t');
counted('t');
ask('begin; update t set n = n + 1; rollback');
counted('t');
ask('vacuum t');
is(counted('t'), "pages_rolled_back $pages rows_rolled_back 1000", 'all pages of a table');
set_and_reload($node, 'zheap.undo_workers = 1');
ask('begin; delete from t; rollback');
wait_undone($node, 'a worker rolls back');
ok($node->poll_query_until('postgres', "select rows_rolled_back >= 1000 from zheap.zheap_stat_tables where relname = 't'"), 'and tells it');
like(counted('t'), qr/pages_rolled_back $pages rows_rolled_back 1000\b/, 'a worker is counted as well');
set_and_reload($node, 'zheap.undo_workers = 0');

# ---- slots ----

sub header
{
	return split /\|/, ask("select slots, (overflow_block is not null)::int, coalesce((select cardinality(lock_pages) from zheap.zheap_page_header('$_[0]', overflow_block)), 0) from zheap.zheap_page_header('$_[0]', 0)");
}

# Transactions in progress, each at a row of its own.
sub prepare
{
	my ($name, $n, $statement) = @_;

	ask(join('', map { "begin; " . sprintf($statement, $_) . "; prepare transaction '$name$_';\n" } 1 .. $n));
	return;
}

is(make('s', 60, 10), '1', 'a table of one page');
my ($slots, $overflow, $lock_pages) = header('s');
counted('s');
ask("set enable_seqscan = off; update s set n = 1 where id = 1");
unlike(counted('s'), qr/slots|_added/, 'a transaction alone');
prepare('w', 40, 'set local enable_seqscan = off; set local enable_bitmapscan = off; update s set n = 2 where id = %d');
my @after = header('s');
my $added = $after[0] - $slots;
is($after[0], 31, 'many transactions fill all slots that a page can have');
is($after[1], 1, 'and it has an overflow page');
is(counted('s'), "slots_added $added overflow_pages_added 1", 'slots and overflow pages are counted');
prepare('l', 400, 'select from s where id = 60 for key share');
@after = header('s');
cmp_ok($after[2], '>', 0, "many lockers: $after[2] lock pages");
like(counted('s'), qr/^lock_pages_added $after[2]\b/, 'lock pages are counted');
ask(join('', map { "rollback prepared '$_';\n" } split /\n/, ask("select gid from pg_prepared_xacts")));
ask('vacuum s');
is(counted('s'), 'pages_rolled_back 40 rows_rolled_back 40', 'each transaction with changes of rows counts, none with locks');

# a page without room for more slots, and an old snapshot, for which those that there are must be kept reachable
make('r', 1000, 100);
is(join(' ', header('r')), '4 0 0', 'a full page with four slots');
counted('r');
$old->query_safe('begin isolation level repeatable read; select 1');
ask("update r set n = 1 where ctid = '(0,$_)'") foreach 1 .. 12;
my ($reused) = counted('r') =~ /^slots_reused (\d+)/;
is(join(' ', header('r')), '4 0 0', 'it has no more of them');
# three were free, that of the insertion visible to all
is($reused, 12 - 4, 'each one that is taken over from a transaction which the snapshot does not see');
is($old->query_safe('select sum(n) from r'), '0', 'which sees what it saw');
$old->query_safe('commit');

# ---- rows of the view ----

ask('drop table s');
is(ask("select count(*) from zheap.zheap_stat_tables where relname = 's'"), '0', 'a dropped table has no counts');
ask('begin; create table never (id int) using zheap; insert into never values (1); select * from never; rollback');
is(ask("select count(*) from zheap.zheap_table_stats() t where not exists (select from pg_class where oid = relid)"), '0', 'nor one that there never was');
$old->quit;
$writer->quit;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
