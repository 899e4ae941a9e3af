# Autovacuum comes when VACUUM has something to do, and not otherwise: deleted, moved and rolled back rows count, updates in place do not.
# It comes by itself and gives the space back; a table that is deleted from shows that it has been round.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('autovacuum', [ 'zheap.max_changed_indexes = 0', 'autovacuum = on', 'autovacuum_max_workers = 1', 'autovacuum_naptime = 1s', 'autovacuum_vacuum_cost_delay = 0',
		'autovacuum_vacuum_threshold = 50', 'autovacuum_vacuum_scale_factor = 0.1', 'autovacuum_vacuum_insert_threshold = -1' ]);
my $rows = 5000;

sub make
{
	my (@tables) = @_;

	$node->safe_psql('postgres', join('', map { <<"SQL" } @tables));
create table $_ (id int primary key, k int, v text) using zheap;
create index on $_ (k);
insert into $_ select g, g, repeat('v', 30) from generate_series(1, $rows) g;
SQL
	return;
}

sub count_of
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "select autovacuum_count from pg_stat_user_tables where relname = '$table'");
}

sub dead
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "select n_dead_tup from pg_stat_user_tables where relname = '$table'");
}

# Autovacuum has gone through all tables that were due, twice.
my $controls = 0;
sub autovacuum_comes_by
{
	foreach my $i (1 .. 2)
	{
		my $name = 'control' . ++$controls;

		# of heap, so that nothing has to do with undo
		$node->safe_psql('postgres', "create table $name using heap as select g as id from generate_series(1, $rows) g; delete from $name where id > 1000");
		$node->poll_query_until('postgres', "select autovacuum_count > 0 from pg_stat_user_tables where relname = '$name'")
		  or die 'no autovacuum';
	}
	return;
}

sub is_vacuumed
{
	my ($table, $what) = @_;

	ok($node->poll_query_until('postgres', "select autovacuum_count > 0 from pg_stat_user_tables where relname = '$table'"),
		"$what: autovacuum comes");
	return;
}

# ---- nothing to do ----

make(qw(inplace undone savepoints locks filled));
$node->safe_psql('postgres', 'update inplace set v = upper(v)') foreach 1 .. 3;
ok($node->poll_query_until('postgres', "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'inplace'",
	join('|', 3 * $rows, 3 * $rows)), 'updates in place are counted as such');
$node->safe_psql('postgres', 'begin; update undone set v = upper(v); rollback; begin; delete from undone; rollback');
$node->safe_psql('postgres', 'begin; savepoint a; update savepoints set v = upper(v); rollback to a; update savepoints set v = upper(v); savepoint b; update savepoints set v = lower(v); release b; commit');
$node->safe_psql('postgres', 'begin; select count(*) from (select from locks for update) x; commit');
$node->safe_psql('postgres', "begin; truncate filled; insert into filled select g, g, 'v' from generate_series(1, $rows) g; update filled set v = upper(v); savepoint a; update filled set v = lower(v); release a; savepoint b; update filled set v = upper(v); rollback to b; commit");
is(dead($_), '0', "$_: no dead rows") foreach qw(inplace undone savepoints locks filled);
autovacuum_comes_by();
is(count_of($_), '0', "$_: autovacuum does not come") foreach qw(inplace undone savepoints locks filled);

# ---- something to do ----

make(qw(deleted moved grown aborted cut_off));
my %size = map { $_ => $node->safe_psql('postgres', "select pg_relation_size('$_')") } qw(aborted cut_off);
$node->safe_psql('postgres', 'delete from deleted where id > 100');
$node->safe_psql('postgres', 'update moved set k = -k where id > 2500');
$node->safe_psql('postgres', "update grown set v = repeat('long', 100)");
$node->safe_psql('postgres', "begin; insert into aborted select g, g, repeat('v', 30) from generate_series($rows + 1, 20 * $rows) g; rollback");
cmp_ok($node->safe_psql('postgres', "select pg_relation_size('aborted')"), '>', 10 * $size{aborted}, 'a bulk insert that was rolled back has made the table large');
is_vacuumed('deleted', 'deleted rows');
ok($node->poll_query_until('postgres', "select pg_relation_size('deleted') <= 4 * 8192"), 'the empty tail is given back');
is_vacuumed('moved', 'a changed key');
is_vacuumed('grown', 'rows that outgrew their pages');
is_vacuumed('aborted', 'a bulk insert that was rolled back');
ok($node->poll_query_until('postgres', "select pg_relation_size('aborted') <= $size{aborted}"), 'its space is given back');
is($node->safe_psql('postgres', 'select count(*), sum(id) from aborted'), "$rows|" . $rows * ($rows + 1) / 2, 'and no row is lost');
btrees_agree($node, 'after autovacuum', qw(aborted_pkey deleted_pkey moved_k_idx grown_k_idx));
is($node->safe_psql('postgres', 'set enable_seqscan = off; set enable_bitmapscan = off; select count(v) from moved where k < 0'), '2500', 'moved rows are found');
is(dead($_), '0', "$_: none is left") foreach qw(deleted moved aborted);

# ---- rows that are only added: autovacuum counts them as on heap, and index-only scans then visit no page ----

# With a single worker no ANALYZE has a snapshot meanwhile, beside which rows would not be visible to all.

foreach my $am ('heap', 'zheap')
{
	my $name = "added_$am";

	$node->safe_psql('postgres', <<"SQL");
create table $name (id int primary key, v text) using $am with (autovacuum_vacuum_insert_threshold = 1000, autovacuum_vacuum_insert_scale_factor = 0.2);
insert into $name select g, repeat('v', 60) from generate_series(1, $rows) g;
SQL
	is_vacuumed($name, "$rows rows added, $am");
	ok($node->poll_query_until('postgres', "select n_ins_since_vacuum = 0 from pg_stat_user_tables where relname = '$name'"), 'it has counted them');
	like($node->safe_psql('postgres', "set enable_seqscan = off; set enable_bitmapscan = off; explain (analyze, costs off, timing off, summary off) select count(id) from $name where id > 0"),
		qr/Heap Fetches: 0$/m, 'an index-only scan visits no page');
}

# ---- an idle server comes to rest ----

ok($node->poll_query_until('postgres', "select sum(n_dead_tup) = 0 from pg_stat_user_tables where schemaname = 'public'"), 'nothing is left to do');
$node->poll_query_until('postgres', "select age(relfrozenxid) < 1000000 from pg_class where oid = 'zheap.undo'::regclass");
autovacuum_comes_by();
my $counts = "select string_agg(relname || ' ' || autovacuum_count, ' ' order by relname) from pg_stat_user_tables where relname not like 'control%'";
my $before = $node->safe_psql('postgres', $counts);
autovacuum_comes_by() foreach 1 .. 3;
is($node->safe_psql('postgres', $counts), $before, 'autovacuum leaves alone what is idle');

# ---- a crash in the middle of a bulk insert: statistics are gone, VACUUM does it ----

my $open = $node->background_psql('postgres');
$open->query_safe('begin');
$open->query_safe("insert into cut_off select g, g, repeat('v', 30) from generate_series($rows + 1, 10 * $rows) g");
$node->safe_psql('postgres', 'select pg_current_xact_id()');
crash($node);
eval { $open->quit };
start_again($node);
$node->safe_psql('postgres', 'vacuum cut_off');
cmp_ok($node->safe_psql('postgres', "select pg_relation_size('cut_off')"), '<=', $size{cut_off}, 'the space of an insert that a crash cut off is given back');
is($node->safe_psql('postgres', 'select count(*) from cut_off'), $rows, 'and no row is lost');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
