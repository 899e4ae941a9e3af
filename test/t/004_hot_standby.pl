# A hot standby reads the right versions while the primary changes them: old snapshots keep their view, new ones are consistent.
# pgbench runs on the primary with rollbacks among it; the standby is promoted at the end and goes on.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use ZheapTest;

my $seconds = short() ? 5 : 15;
# autovacuum would truncate tables, and replay of its lock wait for the old snapshot's session
my $primary = new_server('primary', [ 'shared_buffers = 32MB', 'max_wal_size = 1GB', 'autovacuum = off' ], allows_streaming => 1);
pgbench_init($primary, 1);
$primary->safe_psql('postgres', <<'SQL');
create table hot (id int primary key, n int, v text) using zheap;
insert into hot select g, 0, 'v' from generate_series(1, 100) g;
SQL
my $standby = new_standby($primary, 'standby', 'hot_standby_feedback = on', 'max_standby_streaming_delay = 600s');
caught_up($primary, $standby);

my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/hot.sql", <<'SQL');
\set id random(1, 100)
update hot set n = n + 1, v = repeat('h', :id) where id = :id;
update hot set n = n - 1 where id = 101 - :id;
SQL

# an old snapshot on the standby
my $old = $standby->background_psql('postgres');
my $sums = 'select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers), '
  . '(select sum(bbalance) from pgbench_branches), (select coalesce(sum(delta), 0) from pgbench_history), '
  . "(select md5(string_agg(h::text, ',' order by id)) from hot h)";
pgbench_run($primary, '-c', 4, '-t', 100);
caught_up($primary, $standby);
$old->query_safe('begin isolation level repeatable read');
my $first = $old->query_safe($sums);
wait_for_feedback($primary, $standby);

my $run = pgbench_start($primary, '-c', 8, '-j', 2, '-T', $seconds,
	'-b', 'tpcb-like@4', '-f', load_script('undone') . '@2', '-f', "$scripts/hot.sql\@4");
my ($reads, $wrong, $changed, $index_wrong) = (0, 0, 0, 0);
my $end = time() + $seconds - 1;
while (time() < $end)
{
	my @now = split /\|/, sums($standby);
	$wrong++ unless $now[0] eq $now[1] && $now[1] eq $now[2] && $now[2] eq $now[3];
	$index_wrong++
	  unless $standby->safe_psql('postgres',
		'set enable_seqscan = off; set enable_bitmapscan = off; select count(filler) from pgbench_accounts where aid between 1 and 100000') eq '100000';
	$changed++ unless $old->query_safe($sums) eq $first;
	$reads++;
}
my ($rc, $out, $err) = pgbench_finish($run);
is($rc, 0, 'pgbench on the primary');
cmp_ok($reads, '>', 0, "$reads reads on the standby");
is($wrong, 0, 'every new snapshot is consistent');
is($index_wrong, 0, 'and reads every row by index');
is($changed, 0, 'the old snapshot never changes');
is($old->query_safe($sums), $first, 'nor after the load');
$old->query_safe('commit');

caught_up($primary, $standby);
foreach my $table (qw(hot pgbench_accounts pgbench_tellers pgbench_branches pgbench_history))
{
	is(table_digest($standby, $table), table_digest($primary, $table), "$table is the same on the standby");
}
isnt($old->query_safe($sums), $first, 'a new snapshot sees the changes');

# a transaction in progress, one prepared and one rolled back are not seen
my $open = $primary->background_psql('postgres');
$open->query_safe('begin');
$open->query_safe("update hot set v = 'in progress' where id <= 10");
$primary->safe_psql('postgres', "begin; update hot set v = 'prepared' where id between 11 and 20; prepare transaction 'p'");
$primary->safe_psql('postgres', "begin; update hot set v = 'undone' where id between 21 and 30; rollback");
$primary->safe_psql('postgres', "update hot set v = 'committed' where id = 31");
caught_up($primary, $standby);
is($standby->safe_psql('postgres', "select count(*), count(*) filter (where v = 'committed') from hot where v in ('in progress', 'prepared', 'undone', 'committed')"),
	'1|1', 'the standby sees what is committed');
$primary->safe_psql('postgres', "commit prepared 'p'");
$open->query_safe('commit');
caught_up($primary, $standby);
is($standby->safe_psql('postgres', "select count(*) from hot where v in ('in progress', 'prepared')"), '20', 'and then the rest');
$open->quit;

# without feedback a reader that is in the way is cancelled or sees its view, nothing else
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = 500ms\n");
$standby->reload;
$old->query_safe('begin isolation level repeatable read');
$first = $old->query_safe('select count(*), sum(n), md5(string_agg(v, \'\' order by id)) from hot');
($rc, $out, $err) = pgbench_run($primary, '-c', 4, '-t', short() ? 200 : 1000, '-f', "$scripts/hot.sql");
is($rc, 0, 'pgbench on the primary');
$primary->safe_psql('postgres', 'vacuum hot');
my $conflicts = 0;
for (1 .. 20)
{
	# the session ends when it is in the way
	my $now = eval { $old->query_safe('select count(*), sum(n), md5(string_agg(v, \'\' order by id)) from hot') };
	if (!defined $now)
	{
		$conflicts++;
		last;
	}
	is($now, $first, 'the old view stays') or last;
	usleep(100_000);
}
diag($conflicts ? 'the old reader was cancelled' : 'the old reader was not in the way');
eval { $old->quit };
caught_up($primary, $standby);
is(table_digest($standby, 'hot'), table_digest($primary, 'hot'), 'replay goes on');

# promotion, in the middle of a transaction
my $lost = $primary->background_psql('postgres');
$lost->query_safe('begin');
$lost->query_safe("update hot set v = 'lost'; update pgbench_accounts set abalance = 0 where aid < 1000; delete from pgbench_tellers");
$primary->safe_psql('postgres', "update pgbench_branches set bbalance = bbalance");	# flushes the WAL
caught_up($primary, $standby);
my $hot = $standby->safe_psql('postgres', "select count(*) from hot where v = 'lost'");
is($hot, '0', 'not seen before promotion');
crash($primary);
eval { $lost->quit };
$standby->promote;
$standby->poll_query_until('postgres', 'select not pg_is_in_recovery()');
is($standby->safe_psql('postgres', "select count(*) from hot where v = 'lost'"), '0', 'not seen after promotion');
sums_agree($standby, 'promoted');
($rc, $out, $err) = pgbench_run($standby, '-c', 8, '-j', 2, '-t', 200);
is($rc, 0, 'pgbench on the promoted server');
wait_undone($standby, 'what was in progress is rolled back');
sums_agree($standby, 'promoted, after pgbench');
reads_agree($standby, 'promoted, after pgbench');
$standby->stop;
no_crash_in_log($standby, 'standby');
no_crash_in_log($primary, 'primary');
done_testing();
