# Space is found again: by inserts at once after VACUUM, by writers beside an old snapshot, and an empty tail goes back to the system.
# The same is done on heap, whose growth is the measure.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = short() ? 20_000 : 60_000;
my $node = new_server('reuse', [ 'autovacuum = off', 'shared_buffers = 64MB', 'max_wal_size = 2GB' ]);
my $scripts = PostgreSQL::Test::Utils::tempdir();

sub pages
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "select pg_relation_size('$table') / 8192");
}

# ---- the free space map ----

foreach my $am (qw(heap zheap))
{
	foreach my $index ('', 'primary key')
	{
		my $table = $am . ($index ? '_keyed' : '_plain');
		my $what = "$am" . ($index ? ' with an index' : ' without index');

		$node->safe_psql('postgres', "create table $table (id int $index, v text) using $am; insert into $table select g, repeat('v', 80) from generate_series(1, $rows) g");
		$node->safe_psql('postgres', "delete from $table where id % 2 = 0 and id <= $rows - 200");
		$node->safe_psql('postgres', "vacuum (index_cleanup on) $table");
		my $size = pages($table);
		my $n = int($rows * 0.45 / 4);
		# the map's upper levels must lead four sessions to the pages
		append_to_file("$scripts/$table.sql", "insert into $table select $rows * (1 + :client_id) + g, repeat('n', 80) from generate_series(1, $n) g;\n");
		my ($rc, $out, $err) = pgbench_run($node, '-c', 4, '-j', 2, '-t', 1, '-f', "$scripts/$table.sql");
		is($rc, 0, "$what: inserts of four sessions") or diag($err);
		cmp_ok(pages($table), '<=', $size + 8, "$what: they find the space of deleted rows");
		next if $am eq 'heap';

		# a rolled back bulk insert, found again after VACUUM though the tail is kept
		$node->safe_psql('postgres', "begin; insert into $table select -g, repeat('g', 80) from generate_series(1, $rows) g; rollback; insert into $table values (0, 'last')");
		$node->safe_psql('postgres', "vacuum (index_cleanup on, truncate off) $table");
		$size = pages($table);
		$node->safe_psql('postgres', "insert into $table select -g, repeat('n', 80) from generate_series(1, $rows - 1000) g");
		cmp_ok(pages($table), '<=', $size + 2, "$what: inserts find the space of rolled back rows");
		$node->safe_psql('postgres', "vacuum $table");
		crash($node);
		start_again($node);
		$node->safe_psql('postgres', "delete from $table where id < 0");
		$node->safe_psql('postgres', "vacuum (index_cleanup on, truncate off) $table; insert into $table select -g, repeat('n', 80) from generate_series(1, $rows - 1000) g");
		cmp_ok(pages($table), '<=', $size + 2, "$what: and after a crash");
	}
}

# ---- an empty tail ----

# Many transactions at work on one page; zheap takes a page at the end for their slots.
sub busy_page
{
	my ($table, $first) = @_;

	return map {
		my $session = $node->background_psql('postgres');

		$session->query_safe("begin; update $table set v = upper(v) where id = $first + $_");
		$session
	} 0 .. 39;
}

sub end_all
{
	my ($how, @sessions) = @_;

	foreach my $session (@sessions)
	{
		$session->query_safe($how);
		$session->quit;
	}
	return;
}

foreach my $am (qw(heap zheap))
{
	my $table = $am . '_tail';

	$node->safe_psql('postgres', "create table $table (id int primary key, v text) using $am; insert into $table select g, repeat('v', 80) from generate_series(1, $rows) g");
	my $size = pages($table);
	my @sessions = busy_page($table, $rows - 39);
	end_all('commit', @sessions);
	$node->safe_psql('postgres', "delete from $table where id > $rows / 4");
	$node->safe_psql('postgres', "vacuum $table");
	cmp_ok(pages($table), '<', $size / 4 + 4, "$am: the empty tail is given back");

	# the same on the first page, which stays, and so do its slots
	$node->safe_psql('postgres', "insert into $table select g, repeat('v', 80) from generate_series($rows + 1, $rows * 2) g");
	@sessions = busy_page($table, 1);
	$node->safe_psql('postgres', "delete from $table where id > $rows / 4; vacuum $table");
	end_all('commit', @sessions);
	is($node->safe_psql('postgres', "select count(*), count(*) filter (where v like 'VV%') from $table"), $rows / 4 . '|40', "$am: rows of the page that stays");
	@sessions = busy_page($table, 1);
	$node->safe_psql('postgres', "vacuum $table");
	end_all('rollback', @sessions);
	$node->safe_psql('postgres', "vacuum $table");
	is($node->safe_psql('postgres', "select count(*), count(*) filter (where v like 'VV%') from $table"), $rows / 4 . '|40', "$am: and once more");
	btrees_agree($node, $am, "${table}_pkey");
	$node->safe_psql('postgres', "delete from $table");
	$node->safe_psql('postgres', "vacuum $table");
	is(pages($table), '0', "$am: nothing remains of an empty table");
	$node->safe_psql('postgres', "insert into $table select g, 'again' from generate_series(1, 1000) g");
	is($node->safe_psql('postgres', "select count(*), min(v) from $table"), '1000|again', "$am: and it is used again");
}

# ---- beside an old snapshot ----

# A queue: rows come and go; and rows that change their key, so that they move.
my $turns = short() ? 2000 : 6000;
my %grown;
foreach my $am (qw(heap zheap))
{
	$node->safe_psql('postgres', <<"SQL");
create table ${am}_queue (id int primary key, v text) using $am;
create table ${am}_keys (id int primary key, k int, v text) using $am;
create index on ${am}_keys (k);
insert into ${am}_queue select g, repeat('q', 80) from generate_series(1, 20) g;
insert into ${am}_keys select g, 0, repeat('k', 80) from generate_series(1, 20) g;
create procedure ${am}_turns(first int, last int) language plpgsql as \$\$
begin
	for i in first..last loop
		insert into ${am}_queue values (i + 20, repeat('q', 80));
		delete from ${am}_queue where id = i;
		update ${am}_keys set k = k + 1 where id = i % 20 + 1;
		commit;
	end loop;
end \$\$;
SQL
	my @tables = ("${am}_queue", "${am}_keys");
	my %before = map { $_ => pages($_) } @tables;
	my $old = $node->background_psql('postgres');
	my $look = "select (select count(*) || ' ' || sum(id) || ' ' || max(v) from ${am}_queue), (select sum(k) || ' ' || count(v) from ${am}_keys)";
	$old->query_safe('begin isolation level repeatable read');
	my $seen = $old->query_safe($look);
	$node->safe_psql('postgres', "call ${am}_turns(1, $turns)");
	is($old->query_safe($look), $seen, "$am: the old snapshot sees what it saw");
	$grown{$_} = pages($_) - $before{$_} foreach @tables;
	$old->query_safe('commit');
	$old->quit;
	next if $am eq 'heap';

	$node->safe_psql('postgres', 'vacuum (index_cleanup on) zheap_queue, zheap_keys');
	my %after = map { $_ => pages($_) } @tables;
	$node->safe_psql('postgres', "call zheap_turns($turns + 1, $turns + 500); vacuum (index_cleanup on) zheap_queue, zheap_keys; call zheap_turns($turns + 501, $turns + 1000)");
	cmp_ok(pages($_), '<=', $after{$_} + 4, "$_: once it has gone, nothing is added") foreach @tables;
	btrees_agree($node, 'after that', qw(zheap_queue_pkey zheap_keys_pkey zheap_keys_k_idx));
}
foreach my $what (qw(queue keys))
{
	my ($heap, $zheap) = ($grown{"heap_$what"}, $grown{"zheap_$what"});

	cmp_ok($heap, '>', 15, "$what: heap grows by $heap pages beside an old snapshot");
	cmp_ok($zheap, '<=', 0.3 * $heap, "$what: zheap by $zheap");
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
