# Logs are retired and begun all the time, beside databases that are copied, written to and dropped, and crashes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rounds = short() ? 1 : 3;
my $node = new_server('retire', [ 'autovacuum = off', 'synchronous_commit = off', 'zheap.undo_worker_naptime = 20ms' ], checksums => 0);
my $dir = PostgreSQL::Test::Utils::tempdir();

sub one
{
	return $node->safe_psql('postgres', $_[0]);
}

# What committed is in both tables.
my $change = "\\set id random(1, 100)\nbegin;\nupdate acc set n = n + 1 where id = :id;\ninsert into hist values (:id);\n";
append_to_file("$dir/commit.sql", $change . "commit;\n");
append_to_file("$dir/abort.sql", $change . "rollback;\n");
append_to_file("$dir/savepoint.sql", "\\set id random(1, 100)\nbegin;\nsavepoint a;\nupdate acc set n = n + 1 where id = :id;\nrollback to a;\nend;\n");

sub right
{
	my ($what) = @_;

	is(one('select count(*) from (select id, sum(n) as n from acc group by id having sum(n) > 0) a full join (select id, count(*) as n from hist group by id) h using (id) where a.n is distinct from h.n'),
		0, "$what: all changes are there, and no others");
	return;
}

one('create table acc (id int primary key, n int) using zheap; create table hist (id int) using zheap; insert into acc select g, 0 from generate_series(1, 110) g');
one('create database model');
$node->safe_psql('model', "create extension zheap; create table t (id int, v text) using zheap; insert into t select g, 'old' from generate_series(1, 300) g");
my ($most, $bad) = (0, 0);
foreach my $round (1 .. $rounds)
{
	my $bench = pgbench_start($node, '-C', '-c', 12, '-j', 2, '-t', 40, map { ('-f', "$dir/$_.sql") } qw(commit abort savepoint));
	my $copies = 0;
	my @writers = map { session($node) } 1 .. 8;

	$writers[$_]->query_safe("begin; update acc set n = n where id = 101 + $_") foreach 0 .. $#writers;
	while ($bench->{handle}->pumpable)
	{
		$bench->{handle}->pump_nb;
		one('vacuum zheap.undo');
		my $logs = one('select logs from zheap.zheap_stat_undo');
		$most = $logs if $logs > $most;
		$node->safe_psql('model', "begin; update t set v = 'never'; rollback; begin; update t set v = 'never'; insert into t select 0, 'never' from generate_series(1, 1000); rollback");
		one('create database copy template model');
		$bad++ if $node->safe_psql('copy', "begin; update t set v = 'never'; rollback; select count(*), max(v) from t") ne '300|old';
		$node->psql('copy', 'vacuum zheap.undo');
		$bad++ if $node->safe_psql('copy', 'select count(*), max(v) from t') ne '300|old';
		one('drop database copy');
		$copies++;
	}
	$_->quit foreach @writers;
	my ($rc, $out, $err) = pgbench_finish($bench);
	is($rc, 0, "round $round: writers come and go, beside $copies databases that do") or diag($err);
	right("round $round");
	if ($round == $rounds)
	{
		ok($node->poll_query_until('postgres', 'select logs <= 6 from zheap.zheap_stat_undo'), 'then most logs are retired');
	}
	crash($node);
	start_again($node);
	right("round $round, after a crash");
}
is($bad, 0, 'copies of a database are right');
cmp_ok($most, '>', 6, "there were up to $most logs");
wait_undone($node, 'all is rolled back');
right('at last');
$node->stop;
no_crash_in_log($node);

# ---- logs that nobody may append to any more are not kept for the next writers ----

my $BLCKSZ = 8192;
$node = new_server('sealed', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_worker_naptime = 20ms', 'zheap.undo_hold_warning = -1' ], checksums => 0);
my $undo = $node->data_dir . '/' . one("select pg_relation_filepath('zheap.undo')");

# So many sessions have a log each.
sub write_at_once
{
	my ($number) = @_;
	my @sessions = map { session($node) } 1 .. $number;

	$_->query_safe('set client_min_messages = error') foreach @sessions;
	$sessions[$_]->query_safe("begin; update acc set n = n + 1 where id = $_ + 1; select 1") foreach 0 .. $#sessions;
	$_->query_safe('commit') foreach @sessions;
	$_->quit foreach @sessions;
	return;
}

one('create table acc (id int primary key, n int) using zheap; insert into acc select g, 0 from generate_series(1, 100) g');
write_at_once(4);
$node->stop;
foreach my $log (0 .. 3)
{
	my (undef, $newest) = log_ends($undo, $log);

	write_bytes($undo, ($newest + 1) * $BLCKSZ, "\xff" x 20);
}
$node->start;
write_at_once(4);
ok($node->log_contains("undo log $_ is damaged"), "log $_ is sealed") foreach 0 .. 3;
$node->psql('postgres', 'vacuum zheap.undo');
is(one('select zheap.zheap_undo_pending() || \' \' || logs from zheap.zheap_stat_undo'), '0 8', 'VACUUM finds nothing left in it; writers have others');
$node->append_conf('postgresql.conf', 'zheap.undo_workers = 2');
$node->reload;
ok($node->poll_query_until('postgres', 'select pg_current_xact_id() is not null and logs = 4 from zheap.zheap_stat_undo'), 'workers retire half of the logs');
write_at_once(4);
is(one('select logs from zheap.zheap_stat_undo'), 4, 'and the next writers find the others');
is(one('select sum(n) from acc'), 12, 'what was written is there');
$node->stop;
no_crash_in_log($node);
done_testing();
