# The figures of zheap_stat_undo, zheap_undo_holders and zheap_stat_workers after operations whose undo is known.
# They agree with each other and with the files; a large rollback can be watched, whether a worker or VACUUM does it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

# more pages than are rolled back in one go
my $rows = 220_000;
my $EXTENT = 32 * 8192;
my $node = new_server('figures', [ 'autovacuum = off', 'shared_buffers = 64MB', 'max_wal_size = 2GB', 'zheap.undo_workers = 0',
		'max_prepared_transactions = 5' ]);
$node->safe_psql('postgres', <<"SQL");
create table big (id int primary key, n int, v text) using zheap;
insert into big select g, 0, repeat('v', 400) from generate_series(1, $rows) g;
create table small (id int primary key, n int) using zheap;
insert into small select g, 0 from generate_series(1, 100) g;
SQL

sub stat_undo
{
	my ($what) = @_;

	return $node->safe_psql('postgres', "select $what from zheap.zheap_stat_undo");
}

sub settle
{
	$node->safe_psql('postgres', 'vacuum zheap.undo; select pg_current_xact_id()') foreach 1 .. 3;
	return;
}

sub agree
{
	my ($what) = @_;

	is(stat_undo('total_bytes'), undo_size($node), "$what: the size is the file's");
	is(stat_undo("live_bytes + free_bytes between total_bytes - 2 * $EXTENT and total_bytes"), 't', "$what: live and free make up the total");
	is(stat_undo('pending_bytes <= live_bytes and high_water_bytes >= total_bytes'), 't', "$what: pending is a part of live, and the high-water mark is the greatest");
	is(stat_undo("abs(horizon_age - (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - horizon::text::bigint)) <= 1"), 't', "$what: age of the horizon");
	return;
}

# ---- at rest ----

settle();
agree('at rest');
is(stat_undo('pending_bytes, pending_transactions, logs_pending, limit_bytes'), '0|0|0|', 'at rest nothing is pending');
cmp_ok(stat_undo('live_bytes'), '<=', stat_undo("(logs + 1) * $EXTENT"), 'at rest each log has one extent');
cmp_ok(stat_undo('horizon_age'), '<=', 2, 'at rest the horizon is right behind');
is($node->safe_psql('postgres', "select count(*) from zheap.zheap_undo_holders where pid is distinct from pg_backend_pid()"), '0', 'at rest nobody holds undo');
my $live = stat_undo('live_bytes');

# ---- rolled back transactions ----

$node->safe_psql('postgres', 'begin; update big set n = n + 1; rollback');
my $one = stat_undo('live_bytes') - $live;
cmp_ok($one, '>', $rows * 10, "undo of $rows rows: $one bytes");
cmp_ok($one, '<', $rows * 64, 'and not more than 64 bytes for a row');
is(stat_undo('pending_transactions, logs_pending'), '1|1', 'it is pending');
cmp_ok(abs(stat_undo('pending_bytes') - $one), '<=', 2 * $EXTENT, 'all of it');
agree('one rolled back');
is($node->safe_psql('postgres', "select kind, undo_bytes >= $one from zheap.zheap_undo_holders limit 1"), 'rollback|t', 'the holder is the rollback');
is($node->safe_psql('postgres', 'select xid = horizon from zheap.zheap_undo_holders, zheap.zheap_stat_undo limit 1'), 't', 'and the horizon is there');

my $session = $node->background_psql('postgres');
$session->query_safe('begin; update small set n = 1 where id = 1; rollback') foreach 1 .. 3;
my $both = stat_undo('pending_transactions');
$node->safe_psql('postgres', "begin; update small set n = 1 where id = 2; prepare transaction 'p'");
is(stat_undo('pending_transactions'), $both + 1, 'a prepared transaction counts');
$node->safe_psql('postgres', "commit prepared 'p'");
# its log is looked through once more
$node->safe_psql('postgres', "begin; update small set n = 1 where id = 3; prepare transaction 'p'");
$node->safe_psql('postgres', "rollback prepared 'p'");
cmp_ok(stat_undo('pending_transactions'), '>', $both, 'rolled back it is still pending');

# ---- VACUUM rolls back, and can be watched ----

my @seen;
sub watch
{
	my ($query, $done) = @_;

	@seen = ();
	do
	{
		my $now = $session->query_safe($query);

		push @seen, $now unless @seen && $seen[-1] eq $now;
		usleep(1_000);
	} until ($done->());
	return;
}

my $vacuum = $node->background_psql('postgres');
$vacuum->query_until(qr/started/, "\\echo started\nvacuum zheap.undo;\n\\echo finished\n");
watch('select pending_bytes from zheap.zheap_stat_undo', sub { $vacuum->{run}->pump_nb; $vacuum->{stdout} =~ /finished/ });
$vacuum->quit;
cmp_ok(scalar(grep { $_ > 0 && $_ < $one - $EXTENT } @seen), '>', 0, "pending bytes fall while VACUUM rolls back: @seen");
is(join(' ', sort { $b <=> $a } @seen), join(' ', @seen), 'and never rise');
settle();
is(stat_undo('pending_bytes, pending_transactions, logs_pending'), '0|0|0', 'then nothing is pending');
cmp_ok(stat_undo('live_bytes'), '<=', $live + 4 * $EXTENT, 'and undo is discarded');
cmp_ok(stat_undo('high_water_bytes'), '>=', $one, 'the high-water mark stays');
cmp_ok(stat_undo('total_bytes'), '<', stat_undo('high_water_bytes'), 'while the relation is truncated');
agree('after VACUUM');

# ---- a worker rolls back, and can be watched ----

$node->safe_psql('postgres', 'begin; update big set n = n + 1; rollback');
my $pending = stat_undo('pending_bytes');
$node->append_conf('postgresql.conf', 'zheap.undo_workers = 1');
$node->reload;
watch("select coalesce(max(undo_bytes_done), 0) from zheap.zheap_stat_workers where datname = 'postgres' and state = 'rolling back'",
	sub { $session->query_safe('select pending_transactions from zheap.zheap_stat_undo') eq '0' });
my @grows = grep { $_ > 0 } @seen;
cmp_ok(scalar(@grows), '>', 1, "the worker's progress grows: @grows");
cmp_ok((sort { $b <=> $a } @grows)[0], '<=', $pending + 2 * $EXTENT, 'up to what there was to do');
is($node->safe_psql('postgres', 'select count(*), sum(n) from big'), "$rows|0", 'all rows');
is($node->safe_psql('postgres', "select count(*) from zheap.zheap_stat_workers where role = 'launcher' and state = 'running' and pid in (select pid from pg_stat_activity)"),
	'1', 'the launcher is there');
set_and_reload($node, 'zheap.undo_workers = 0');
settle();

# ---- holders: each by itself ----

$live = stat_undo('live_bytes');
my @readers;
foreach my $i (0 .. 1)
{
	my $reader = $node->background_psql('postgres');

	push @readers, [ $reader, $reader->query_safe('select pg_backend_pid()') ];
	$reader->query_safe('begin isolation level repeatable read');
	$reader->query_safe('select count(*) from small');
	$node->safe_psql('postgres', 'update big set n = n + 1');
}
my @bytes = map { $node->safe_psql('postgres', "select undo_bytes from zheap.zheap_undo_holders where pid = $_->[1]") } @readers;
my $added = stat_undo('live_bytes') - $live;
cmp_ok($bytes[1], '>=', 0.4 * $added, "the younger snapshot keeps what came after it: $bytes[1] of $added");
cmp_ok($bytes[1], '<=', 0.7 * $added, 'and nothing before');
cmp_ok($bytes[0], '>=', 0.9 * $added, "the older one keeps all: $bytes[0]");
is($node->safe_psql('postgres', 'select string_agg(pid::text, \' \') from (select pid from zheap.zheap_undo_holders where pid <> pg_backend_pid()) x'), "$readers[0][1] $readers[1][1]", 'the oldest comes first');
# either of them keeps its part
$readers[0][0]->query_safe('commit');
$node->safe_psql('postgres', 'vacuum zheap.undo');
cmp_ok(abs(stat_undo('live_bytes') - $live - $bytes[1]), '<=', 8 * $EXTENT, 'when the older one has gone, the view was right about the younger');
is($node->safe_psql('postgres', 'select xid >= horizon and horizon_age >= age from zheap.zheap_undo_holders, zheap.zheap_stat_undo limit 1'), 't', 'the horizon is at the younger one');
$readers[1][0]->query_safe('commit');
$_->[0]->quit foreach @readers;
settle();
cmp_ok(stat_undo('live_bytes'), '<=', $live + 4 * $EXTENT, 'when both have gone, nothing is kept');

# ---- each database by itself; the limit ----

$node->safe_psql('postgres', 'create database other');
$node->safe_psql('other', 'create extension zheap; create table t (a int) using zheap; insert into t values (1); begin; update t set a = 2; rollback');
is($node->safe_psql('other', 'select pending_transactions from zheap.zheap_stat_undo'), '1', 'figures of one database');
is(stat_undo('pending_transactions'), '0', 'are not those of another');
set_and_reload($node, "zheap.undo_max_size = '64MB'");
is(stat_undo('limit_bytes'), 64 * 1024 * 1024, 'the limit');

# ---- a crash: figures are there again ----

$node->safe_psql('postgres', 'checkpoint; begin; update big set n = n + 1 where id <= 50000; rollback');
$pending = stat_undo('pending_bytes');
my $high = stat_undo('high_water_bytes');
crash($node);
eval { $session->quit };
start_again($node);
cmp_ok(stat_undo('pending_transactions'), '>=', 1, 'after a crash it is still pending');
cmp_ok(stat_undo('pending_bytes'), '>=', $pending - 2 * $EXTENT, 'all of it');
is(stat_undo('high_water_bytes'), $high, 'the high-water mark is what it was');
agree('after a crash');
settle();
is(stat_undo('pending_bytes, pending_transactions'), '0|0', 'and then rolled back');
is($node->safe_psql('postgres', 'select count(*), min(n), max(n) from big'), "$rows|2|2", 'all rows');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
