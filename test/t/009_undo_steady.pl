# Under a steady load undo is recycled: its size does not grow between measurements, and so do the tables not.
# pgbench with commits and rollbacks; then an old snapshot holds undo, and lets it go again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seconds = short() ? 3 : 8;
my $clients = 8;
my $extent = 32 * 8192;
my $node = new_server('steady', [ 'shared_buffers = 128MB', 'max_wal_size = 2GB' ]);
pgbench_init($node, 1);
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/undone.sql", <<'SQL');
\set aid random(1, 100000)
begin;
update pgbench_accounts set abalance = abalance + 1000000 where aid between :aid and :aid + 9;
rollback;
SQL

# bytes of the extents in use, not counting free ones
sub undo_used
{
	return $_[0]->safe_psql('postgres', 'select used_bytes from zheap.zheap_undo_stats()');
}

my $sizes = "select pg_relation_size('pgbench_accounts'), pg_relation_size('pgbench_accounts_pkey')";
my $tables = $node->safe_psql('postgres', $sizes);

foreach my $load (
	[ 'simple updates', '-N', '-M', 'prepared' ],
	[ 'TPC-B', '-M', 'prepared' ],
	[ 'TPC-B and rollbacks', '-b', 'tpcb-like@3', '-f', "$scripts/undone.sql\@1" ])
{
	my ($what, @options) = @$load;
	my @size;

	foreach my $part (0 .. 3)
	{
		my ($rc, $out, $err) = pgbench_run($node, '-c', $clients, '-j', 2, '-T', $seconds, @options);
		is($rc, 0, "$what: part $part");
		push @size, undo_size($node);
	}
	diag("$what: undo has @size bytes");
	# one extent per client more or less is a matter of when its log moves on
	cmp_ok($size[3], "<=", $size[1] + $clients * $extent, "$what: undo does not grow");
	cmp_ok($size[3], '<=', 8 * $clients * $extent + 16 * $extent, "$what: undo is small");
}
is($node->safe_psql('postgres', $sizes), $tables, 'neither the table nor its index has grown');
# simple updates leave tellers and branches alone
is($node->safe_psql('postgres', 'select sum(abalance) from pgbench_accounts'),
	$node->safe_psql('postgres', 'select sum(delta) from pgbench_history'), 'balances and history agree');

# an old snapshot keeps its undo, and no more than that once it has gone
my $old = $node->background_psql('postgres');
$old->query_safe('begin isolation level repeatable read');
my $seen = $old->query_safe('select sum(abalance), count(*) from pgbench_accounts');
# what could be discarded anyway does not count
$node->safe_psql('postgres', 'vacuum zheap.undo');
my $before = undo_used($node);
my ($rc) = pgbench_run($node, '-N', '-c', $clients, '-j', 2, '-T', $seconds);
is($rc, 0, 'load beside an old snapshot');
# more than fits what the logs have left, on a slow machine as well
$node->safe_psql('postgres', 'update pgbench_accounts set abalance = abalance + 1 where aid <= 20000; update pgbench_accounts set abalance = abalance - 1 where aid <= 20000');
is($old->query_safe('select sum(abalance), count(*) from pgbench_accounts'), $seen, 'the old snapshot sees what it saw');
cmp_ok(undo_used($node), '>', $before, 'undo is kept for it');
my $held = undo_size($node);
is($node->safe_psql('postgres', $sizes), $tables, 'the table has not grown');
$old->query_safe('commit');
$old->quit;
pgbench_run($node, '-N', '-c', $clients, '-j', 2, '-T', $seconds);
my $after = undo_size($node);
pgbench_run($node, '-N', '-c', $clients, '-j', 2, '-T', $seconds);
cmp_ok(undo_size($node), '<=', $after + 2 * $extent, 'afterwards it is recycled again');
cmp_ok($after, '<=', $held + 2 * $clients * $extent, 'the space that was held is used again');

# one transaction with much undo, rolled back, then the same as ever
$node->safe_psql('postgres', 'begin; update pgbench_accounts set abalance = 0; rollback');
wait_undone($node, 'a large transaction is rolled back');
pgbench_run($node, '-N', '-c', $clients, '-j', 2, '-T', 2);
$after = undo_size($node);
pgbench_run($node, '-N', '-c', $clients, '-j', 2, '-T', $seconds);
cmp_ok(undo_size($node), '<=', $after + 2 * $extent, 'its undo is recycled');
is($node->safe_psql('postgres', $sizes), $tables, 'the table has not grown at all');

# Nothing but rollbacks, of more undo than there may be: who rolls back keeps up with those who roll back, be it workers, or autovacuum alone.
# With neither the limit is reached, rollback and readers go on, and VACUUM is the way out.
append_to_file("$scripts/many.sql", <<'SQL');
\set aid random(1, 99000)
begin;
update pgbench_accounts set abalance = abalance + 1000000, filler = 'gone' where aid between :aid and :aid + 999;
rollback;
SQL
sub settings
{
	$node->safe_psql('postgres', join('', map { "alter system set $_;\n" } @_) . 'select pg_reload_conf()');
	select(undef, undef, undef, 0.5);
	return;
}
my $limit = 24;
my $sum = $node->safe_psql('postgres', 'select sum(abalance), count(*) from pgbench_accounts');
foreach my $who ([ 'workers', 'zheap.undo_workers = 2', 'autovacuum = off' ], [ 'autovacuum', 'zheap.undo_workers = 0', 'autovacuum = on', "autovacuum_naptime = '1s'" ])
{
	my ($what, @settings) = @$who;

	settings("zheap.undo_max_size = '${limit}MB'", @settings);
	$node->safe_psql('postgres', 'vacuum zheap.undo');
	my $done = 0;
	my $met = '';

	# autovacuum comes each second: the limit may be met meanwhile, but not for long
	for (my $i = 0; $i < 20 && ($i < 5 || $done * 100_000 < 3 * $limit * 1048576); $i++)
	{
		my (undef, $out, $err) = pgbench_run($node, '-c', $clients, '-T', $seconds, '-f', "$scripts/many.sql");

		$done += $1 if $out =~ /number of transactions actually processed: (\d+)/;
		$met .= $err if $err =~ /ERROR/;
		sleep 2 if $err =~ /ERROR/;
	}
	is($met, '', "$what: rollbacks do not meet the limit") if $what eq 'workers';
	unlike($met, qr/ERROR(?!:  undo in use would exceed)/, "$what: nor anything else");
	# 1000 rows of some 100 bytes each
	cmp_ok($done * 100_000, '>', 1.5 * $limit * 1048576, "$what: there were enough of them: $done");
	is($node->safe_psql('postgres', 'select sum(abalance), count(*) from pgbench_accounts'), $sum, "$what: balances");
}
settings('autovacuum = off');
$node->safe_psql('postgres', 'vacuum zheap.undo');
my $met = 0;
my $err;
for (1 .. 50)
{
	(undef, undef, $err) = pgbench_run($node, '-c', $clients, '-t', 20, '-f', "$scripts/many.sql");
	$met = 1 if $err =~ /undo in use would exceed "zheap.undo_max_size" \($limit MB\)/;
	last if $err =~ /kept back by changes that are still to be rolled back/;
}
ok($met, 'neither: the limit is met');
isnt($node->safe_psql('postgres', 'select pending_bytes from zheap.zheap_stat_undo'), '0', 'by what was rolled back');
like($err, qr/kept back by changes that are still to be rolled back\.\s+HINT: .*If no worker rolls back aborted transactions, run VACUUM on the undo relation/, 'which the message tells, and what helps');
is($node->safe_psql('postgres', 'select sum(abalance), count(*) from pgbench_accounts'), $sum, 'neither: readers go on');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is($node->safe_psql('postgres', 'select pending_bytes from zheap.zheap_stat_undo'), '0', 'VACUUM puts all back');
# who fails makes room for the next one: snapshots get newer
$node->psql('postgres', 'update pgbench_tellers set tbalance = tbalance');
is($node->psql('postgres', 'update pgbench_tellers set tbalance = tbalance'), 0, 'writers go on');
is($node->psql('postgres', 'begin; update pgbench_accounts set abalance = 1 where aid <= 20000; rollback'), 0, 'large ones, too');
is($node->safe_psql('postgres', 'select sum(abalance), count(*) from pgbench_accounts'), $sum, 'neither: balances');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
