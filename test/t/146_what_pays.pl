# Writers remove index entries (zheap.remove_dead_entries) where each leaf has several of a batch's. Those that are scattered all over an index
# are left to VACUUM, if it comes by the settings; if it does not come, writers remove them all the same. Counted by leaves, not by time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

# autovacuum is on, and does not come while the test runs
my $node = new_server('pays', [ 'autovacuum = on', 'autovacuum_naptime = 1d', 'zheap.remove_dead_entries = on', 'shared_buffers = 64MB' ]);
my $rounds = 60;
my $deleted = 100 * $rounds;

$node->safe_psql('postgres', 'create extension amcheck');

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# A table whose first index ascends while the second has keys in no order; the oldest rows go as new ones come.
# Returns rows removed and left, entries removed, and leaves visited.
sub turns
{
	my ($table, $rows, $options) = @_;
	my $session = session($node);

	ask("create table $table (id bigserial primary key, r int, pad text) using zheap" . ($options ? " with ($options)" : ''));
	ask("create index ${table}_r on $table (r)");
	ask("insert into $table (r, pad) select hashint8(g), repeat('p', 40) from generate_series(1, $rows) g");
	ask("vacuum analyze $table");
	foreach my $i (1 .. $rounds)
	{
		$session->query_safe("insert into $table (r, pad) select hashint8(g + $rows + 100 * $i), repeat('p', 40) from generate_series(1, 100) g");
		$session->query_safe("delete from $table where id > 100 * ($i - 1) and id <= 100 * $i");
	}
	counts_told($node, $session);
	$session->quit;
	# the server's counters of its deletions are there when it has gone
	ok(wait_until(sub { ask("select count(*) from pg_stat_activity where backend_type = 'client backend'") eq '1' }), 'the session has ended');
	my @counts = split /\|/,
	  ask("select dead_rows_removed, dead_rows_left, dead_entries_removed, dead_leaves_visited from zheap.zheap_stat_tables where relname = '$table'");
	note("$table, $deleted rows deleted: rows removed, left; entries removed, leaves visited: @counts");
	return @counts;
}

# Both indexes have all rows, and scans by them the right answers.
sub sound
{
	my ($table, $rows, $what) = @_;
	my $sum = $rows * ($rows + 1) / 2 + $deleted * $rows;

	ask("select bt_index_check('${table}_pkey', true), bt_index_check('${table}_r', true)");
	foreach my $by ('id > 0', 'r > -2147483648', 'pad > \'\'')
	{
		is(ask("set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id) from $table where $by"), "$rows|$sum", "$what: by $by");
	}
	return;
}

# ---- VACUUM comes: what is scattered is left to it ----
my ($removed, $left, $entries, $leaves) = turns('large', 60000);

cmp_ok($left, '>=', 0.7 * $deleted, 'rows with scattered entries are left to VACUUM');
cmp_ok($entries, '>=', 0.7 * $deleted, 'their entries in the index that ascends are removed');
cmp_ok($entries, '<=', 1.3 * $deleted, '... and not those in the other');
cmp_ok($leaves, '<=', 0.1 * $entries, 'few leaves are visited');
sound('large', 60000, 'scattered entries left');
my $dead = ask("select n_dead_tup from pg_stat_user_tables where relname = 'large'");
cmp_ok($dead, '>=', $left, 'rows that are left count as dead, so autovacuum has a reason to come');
my $blocks = ask("select pg_relation_size('large') / 8192");

ask('vacuum large');
is(ask("select n_dead_tup from pg_stat_user_tables where relname = 'large'"), 0, 'VACUUM removes them');
sound('large', 60000, 'after VACUUM');

# ---- it does not come ----
($removed, $left, $entries, $leaves) = turns('alone', 60000, 'autovacuum_enabled = off');
cmp_ok($removed, '>=', 0.7 * $deleted, 'without autovacuum all are removed');
cmp_ok($left, '<=', 0.05 * $deleted, '... and hardly any is left');
cmp_ok($entries, '>=', 1.4 * $deleted, '... from both indexes');
sound('alone', 60000, 'without autovacuum');
cmp_ok($blocks, '<=', 1.1 * ask("select pg_relation_size('alone') / 8192"), 'the space of rows whose pointers wait is used as well');

# ---- an index of few leaves ----
($removed, $left, $entries, $leaves) = turns('small', 2000);
cmp_ok($removed, '>=', 0.7 * $deleted, 'in a small table all are removed');
is($left, 0, '... and none is left');
cmp_ok($leaves, '<=', 0.25 * $entries, '... with several entries on each leaf');
sound('small', 2000, 'a small table');

$node->stop;
done_testing();
