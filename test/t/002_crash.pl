# kill -9 of the postmaster and all its children at random moments under TPC-B, aborts and savepoints; then all sums agree.
# Rounds with large and tiny buffers; acknowledged commits are counted and must be there; seed printed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $rounds = $ENV{ZHEAP_CRASH_ROUNDS} // (short() ? 4 : 20);
my $clients = 8;

seed();
my $node = new_server('crash', [ 'checkpoint_timeout = 30s', 'max_wal_size = 64MB', 'min_wal_size = 32MB' ]);
pgbench_init($node, 2);
my $scripts = PostgreSQL::Test::Utils::tempdir();

# Like TPC-B, but the greater part of it is undone.
append_to_file("$scripts/savepoint.sql", <<'SQL');
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
begin;
savepoint a;
update pgbench_accounts set abalance = abalance + 1000000, filler = 'undone' where aid = :aid;
savepoint b;
delete from pgbench_accounts where aid = :aid;
rollback to a;
update pgbench_accounts set abalance = abalance + :delta, filler = repeat('f', abs(:delta) % 80) where aid = :aid;
savepoint c;
update pgbench_tellers set tbalance = tbalance + :delta where tid = :tid;
release c;
update pgbench_branches set bbalance = bbalance + :delta where bid = :bid;
insert into pgbench_history (tid, bid, aid, delta, mtime) values (:tid, :bid, :aid, :delta, current_timestamp);
savepoint d;
insert into pgbench_history (tid, bid, aid, delta, mtime) values (:tid, :bid, :aid, 1000000, current_timestamp);
rollback to d;
commit;
SQL
# The key of an account changes, for the time of a transaction or for good.
append_to_file("$scripts/move.sql", <<'SQL');
\set aid random(1, 100000 * :scale)
begin;
update pgbench_accounts set aid = -aid, filler = repeat('m', 80) where aid = :aid;
update pgbench_accounts set aid = -aid where aid = -:aid;
commit;
SQL

my @buffers = ('128kB', '64MB', '512kB', '128MB', '1MB', '16MB');
for my $round (1 .. $rounds)
{
	my $buffers = $buffers[ ($round - 1) % @buffers ];
	my $wal_level = $round % 3 == 0 ? 'minimal' : 'replica';

	$node->append_conf('postgresql.conf',
		"shared_buffers = $buffers\nwal_level = $wal_level\nfull_page_writes = " . ($round % 4 ? 'on' : 'off') . "\n");
	$node->restart;
	my $before = $node->safe_psql('postgres', 'select count(*) from pgbench_history');
	my $prefix = "$scripts/log$round";
	my $run = pgbench_start($node, '-c', $clients, '-j', 2, '-T', 60, '-l', "--log-prefix=$prefix",
		'-M', ('simple', 'prepared')[ $round % 2 ],
		'-b', 'tpcb-like@6', '-f', load_script('undone') . '@2', '-f', "$scripts/savepoint.sql\@3", '-f', "$scripts/move.sql\@1");

	my $sleep = 0.3 + rand(2.5);
	usleep($sleep * 1_000_000);
	$node->psql('postgres', 'checkpoint') if $round % 5 == 0;
	crash($node);
	pgbench_finish($run);

	# lines of the logs: client, number, time, script, ...
	my $acknowledged = 0;
	foreach my $file (glob "$prefix.*")
	{
		$acknowledged += () = slurp_file($file) =~ /^\d+ \d+ \d+ [02] /mg;
	}

	start_again($node);
	my $what = sprintf('round %d (%s, %s, %.1f s, %d commits)', $round, $buffers, $wal_level, $sleep, $acknowledged);
	my $after = $node->safe_psql('postgres', 'select count(*) from pgbench_history');
	cmp_ok($after, '>=', $before + $acknowledged, "$what: no commit is lost");
	cmp_ok($after, '<=', $before + $acknowledged + $clients, "$what: nothing is there twice");
	sums_agree($node, $what);
	reads_agree($node, $what);
	is($node->safe_psql('postgres', 'select count(*), count(distinct aid), min(aid), max(aid) from pgbench_accounts'),
		'200000|200000|1|200000', "$what: every account is there once");
	btrees_agree($node, $what, qw(pgbench_accounts_pkey pgbench_tellers_pkey pgbench_branches_pkey))
	  if $round % 3 == 1 || $round == $rounds;
}

# and it goes on working
my ($rc, $out, $err) = pgbench_run($node, '-c', $clients, '-t', 200);
is($rc, 0, 'pgbench after all rounds');
unlike($err, qr/ERROR/, 'without errors');
sums_agree($node, 'at the end');
wait_undone($node, 'all that was rolled back is rolled back');
sums_agree($node, 'after that');
reads_agree($node, 'after that');
$node->safe_psql('postgres', 'vacuum');
sums_agree($node, 'after vacuum');
reads_agree($node, 'after vacuum');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
