# The space of undo is bounded, given back, and explained: zheap.undo_max_size, truncation of the undo relation under load and on a standby,
# the views of holders and workers, the message about undo that is kept for long; a server without workers makes all the progress.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use ZheapTest;

my $extent = 32 * 8192;
my $MB = 1024 * 1024;
my $begin = time();
my $node = new_server('space',
	[ 'shared_buffers = 64MB', 'max_wal_size = 2GB', 'autovacuum = off', 'zheap.undo_hold_warning = 1s', 'wal_keep_size = 2GB', 'checkpoint_timeout = 1h' ],
	allows_streaming => 1);
$node->safe_psql('postgres', <<'SQL');
create table small (id int primary key, n int) using zheap;
insert into small select g, 0 from generate_series(1, 100) g;
create table big (id int primary key, n int, v text) using zheap;
insert into big select g, 0, repeat('a', 100) from generate_series(1, 200000) g;
create role monitor login;
grant pg_monitor to monitor;
create role nobody login;
SQL
my $standby = new_standby($node, 'space_standby', 'hot_standby_feedback = off');

sub stat_undo
{
	return $node->safe_psql('postgres', "select $_[0] from zheap.zheap_stat_undo");
}

# Until hardly any undo is in use.
sub wait_unused
{
	my ($what) = @_;

	ok(wait_until(sub { $node->safe_psql('postgres', 'vacuum zheap.undo; select pg_current_xact_id()'); stat_undo('live_bytes') < $MB }), $what);
	return;
}

# ---- the limit ----

set_and_reload($node, "zheap.undo_max_size = '4MB'");
my ($rc, $out, $err) = $node->psql('postgres', 'update big set n = n + 1');
is($rc, 3, 'a transaction that needs more undo than there may be fails');
like($err, qr/ERROR:  undo in use would exceed "zheap.undo_max_size" \(4 MB\)\nDETAIL:  \d+ kB of undo are in use.*\nHINT: /, 'the message says why');
is($node->safe_psql('postgres', 'select count(*), sum(n) from big'), '200000|0', 'nothing of it is left');
cmp_ok(stat_undo('total_bytes'), '<=', 4 * $MB, 'the undo relation has kept within its limit');

wait_unused('the undo of it goes');

# one that runs away and is not at its end yet: others go on, and it can be rolled back
my $hog = $node->background_psql('postgres', on_error_stop => 0);
$hog->query('begin');
$hog->query('update big set n = n + 1 where id <= 50000');
my $failed = grep { $node->psql('postgres', 'update small set n = n + 1') != 0 } 1 .. 20;
is($failed, 0, 'others go on beside a large transaction');
$hog->query('update big set n = n + 1');
is($node->psql('postgres', 'update small set n = n + 1'), 0, 'and after it has met the limit');
$hog->query('rollback');
$hog->quit;
wait_undone($node, 'what was rolled back at the limit is rolled back');
is($node->safe_psql('postgres', 'select count(*), sum(n) from big'), '200000|0', 'all of it');
wait_unused('its undo goes, too');
is($node->safe_psql('postgres', 'select min(n), max(n) from small'), '21|21', 'and nothing of others');
$node->safe_psql('postgres', 'update big set n = n + 1 where id <= 20000') foreach 1 .. 15;
is($node->safe_psql('postgres', 'select sum(n) from big'), 300000, 'many transactions go on with the same undo');

# a holder fills it; SQLSTATE; readers and the holder itself are not hindered
my $old = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $old->query_safe('select pg_backend_pid()');
$old->query_safe('begin isolation level repeatable read');
$old->query_safe('select sum(n) from big');
for (1 .. 100)
{
	($rc, $out, $err) = $node->psql('postgres', '\set VERBOSITY verbose' . "\nupdate big set n = n - 1 where id <= 20000");
	last if $rc != 0;
}
like($err, qr/ERROR:  53400: undo in use would exceed/, 'an old snapshot lets the limit be reached');
like($err, qr/kept back by the transaction of process $pid\./, 'the message names its process');
is($old->query_safe('select sum(n) from big'), 300000, 'the old snapshot reads on');
is($node->safe_psql('postgres', 'select count(*) from big'), 200000, 'so do new ones');
set_and_reload($node, "zheap.undo_max_size = '40MB'");
is($node->psql('postgres', 'update small set n = n + 1'), 0, 'a higher limit helps at once');
is($node->psql('postgres', 'update big set n = n + 1 where id <= 50000'), 0, 'others as well');
set_and_reload($node, "zheap.undo_max_size = '4MB'");
is($node->psql('postgres', 'update small set n = n + 1'), 0, 'a limit below the size is no error as long as there is room');

# ---- who keeps it ----

$node->safe_psql('postgres', <<'SQL');
begin;
insert into small values (1000, 0);
prepare transaction 'the gid';
SQL
$node->psql('postgres', 'select pg_create_physical_replication_slot(\'the_slot\', true)');
is($node->safe_psql('postgres', "select kind, undo_bytes > 2000000, age > 5 from zheap.zheap_undo_holders where pid = $pid"),
	'backend|t|t', 'view: the old snapshot, its age and its undo');
is($node->safe_psql('postgres', "select gid, pid is null, age between 0 and 10 from zheap.zheap_undo_holders where kind = 'prepared transaction'"),
	'the gid|t|t', 'view: the prepared transaction');
is($node->safe_psql('postgres', "select kind from zheap.zheap_undo_holders limit 1"), 'backend', 'view: the oldest first');
is($node->safe_psql('postgres', 'select live_bytes > 2000000 and total_bytes >= live_bytes + free_bytes and limit_bytes = 4194304 and horizon_age > 5 and high_water_bytes >= total_bytes from zheap.zheap_stat_undo'),
	't', 'view: sizes');
ok(eval { $node->wait_for_log(qr/undo of database "postgres" is kept for longer than "zheap.undo_hold_warning" \(1000 ms\)\n.*DETAIL:  There are \d+ kB of undo\.  Undo of transaction \d+ and later is kept back by the transaction of process $pid\./) },
	'the log names who keeps undo');
my $warnings = () = slurp_file($node->logfile) =~ /There are \d+ kB of undo\.  Undo of transaction \d+ and later is kept back by the transaction of process $pid\./g;
cmp_ok($warnings, '<=', 1 + (time() - $begin) / 60, 'once a minute at most');
$old->query_safe('commit');
$old->quit;
$node->safe_psql('postgres', "commit prepared 'the gid'");
ok($node->poll_query_until('postgres', "select count(*) = 0 from zheap.zheap_undo_holders where kind in ('prepared transaction', 'rollback')"), 'view: they have gone');

# a standby's feedback through the slot; it is restarted, so let it begin here
$node->safe_psql('postgres', 'checkpoint');
caught_up($node, $standby);
$standby->safe_psql('postgres', 'checkpoint');
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1s\nprimary_slot_name = 'the_slot'");
$standby->restart;
my $reader = $standby->background_psql('postgres');
$reader->query_safe('begin isolation level repeatable read');
$reader->query_safe('select sum(n) from big');
ok($node->poll_query_until('postgres', "select count(*) > 0 from zheap.zheap_undo_holders where slot_name = 'the_slot'"), 'view: a standby with a slot');
$reader->query_safe('commit');
$standby->append_conf('postgresql.conf', "primary_slot_name = ''");
$standby->restart;
$reader->quit;
ok($node->poll_query_until('postgres', "select count(*) > 0 from zheap.zheap_undo_holders where kind = 'standby feedback' and pid is not null"), 'view: a standby without one');
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->restart;
$node->safe_psql('postgres', "select pg_drop_replication_slot('the_slot')");

# who may look
is($node->psql('postgres', 'table zheap.zheap_undo_holders', extra_params => [ '-U', 'monitor' ]), 0, 'pg_monitor may see holders');
is($node->psql('postgres', 'table zheap.zheap_stat_undo; table zheap.zheap_stat_workers', extra_params => [ '-U', 'monitor' ]), 0, 'and the rest');
foreach my $view (qw(zheap_undo_holders zheap_stat_undo zheap_stat_workers))
{
	isnt($node->psql('postgres', "table zheap.$view", extra_params => [ '-U', 'nobody' ]), 0, "others may not see $view");
}
is($node->safe_psql('postgres', <<'SQL'), 0, 'each view and column has a comment');
select count(*) from pg_attribute a join pg_class c on c.oid = attrelid
  where relnamespace = 'zheap'::regnamespace and relkind = 'v' and attnum > 0
    and (col_description(c.oid, attnum) is null or obj_description(c.oid) is null)
SQL

# ---- space is given back ----

set_and_reload($node, 'zheap.undo_max_size = -1', 'zheap.undo_hold_warning = -1');
sub fill
{
	my $holder = $node->background_psql('postgres');

	$holder->query_safe('begin isolation level repeatable read');
	$holder->query_safe('select count(*) from big');
	$node->safe_psql('postgres', 'update big set n = n + 1, v = repeat(chr(98 + n % 20), 100)') foreach 1 .. 3;
	my $size = undo_size($node);
	$holder->query_safe('commit');
	$holder->quit;
	return $size;
}
my $filled = fill();
cmp_ok($filled, '>', 50 * $MB, 'undo of an old snapshot: ' . $filled);
$node->safe_psql('postgres', 'update small set n = n');
$node->safe_psql('postgres', 'vacuum zheap.undo');
cmp_ok(undo_size($node), '<', 6 * $MB, 'VACUUM of the undo relation gives space back');
is(undo_size($node), stat_undo('total_bytes'), 'the view tells the size of the file');
is(stat_undo('high_water_bytes'), $filled, 'and the greatest one');
$filled = fill();
my $start = time();
ok($node->poll_query_until('postgres', 'select total_bytes < 40 * 1048576 from zheap.zheap_stat_undo'),
	sprintf('workers give it back, too, after %.0f s', time() - $start));

# under load, with readers that walk through undo
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/update.sql", "\\set id random(1, 200000)\nupdate big set n = n + 1 where id between :id and :id + 19;\n");
append_to_file("$scripts/undone.sql", "\\set id random(1, 200000)\nbegin;\nupdate big set n = n + 1000 where id between :id and :id + 199;\nrollback;\n");
append_to_file("$scripts/read.sql", "\\set id random(1, 160000)\nbegin isolation level repeatable read;\nselect sum(n) from big where id between :id and :id + 40000;\nselect sum(n) from big where id % 7 = 0 and id between :id and :id + 40000;\ncommit;\n");
my $before = $node->safe_psql('postgres', 'select sum(n) from big');
my $load = pgbench_start($node, '-c', 8, '-j', 2, '-T', 3600, '-f', "$scripts/update.sql\@20", '-f', "$scripts/undone.sql\@3", '-f', "$scripts/read.sql\@1");
foreach my $round (1 .. (short() ? 3 : 6))
{
	my $holder = $node->background_psql('postgres');

	$node->safe_psql('postgres', 'vacuum zheap.undo');
	$holder->query_safe('begin isolation level repeatable read');
	my $sum = $holder->query_safe('select sum(n) from big');
	my $size = undo_size($node);
	ok(wait_until(sub { undo_size($node) > $size + 8 * $MB }), "round $round: the undo relation grows");
	is($holder->query_safe('select sum(n) from big'), $sum, "round $round: an old snapshot beside the load");
	$holder->query_safe('commit');
	$holder->quit;
	$size = undo_size($node);
	ok(wait_until(sub { $node->safe_psql('postgres', 'vacuum zheap.undo'); undo_size($node) < $size }), "round $round: it is truncated under load");
}
($rc, $out, $err) = pgbench_stop($load);
is($rc, 0, 'load while the undo relation is truncated and grows');
unlike($err, qr/ERROR|FATAL/, 'without errors');
wait_undone($node, 'what was rolled back is rolled back');
# or workers would go on to truncate while we compare
set_and_reload($node, 'zheap.undo_workers = 0');
caught_up($node, $standby);
is(table_digest($standby, 'big'), table_digest($node, 'big'), 'the standby has the same rows');
is(undo_size($standby), undo_size($node), 'and an undo relation of the same size');
btrees_agree($node, 'after the load', 'big_pkey');
set_and_reload($node, 'zheap.undo_workers = 3');

# all of it replayed to the same bytes
fill();
set_and_reload($node, 'zheap.undo_workers = 0');
$node->safe_psql('postgres', <<'SQL');
set wal_consistency_checking = 'zheap';
update small set n = n;
vacuum zheap.undo;
update big set n = n where id <= 10000;
begin;
update big set n = n where id <= 10000;
update big set n = n where id <= 10000;
commit;
vacuum zheap.undo;
SQL
caught_up($node, $standby);
is(undo_size($standby), undo_size($node), 'the standby follows, with pages compared');
set_and_reload($node, 'zheap.undo_workers = 3');

# a crash after a truncation
fill();
$node->safe_psql('postgres', 'checkpoint');
$node->safe_psql('postgres', 'update small set n = n');
$node->safe_psql('postgres', 'vacuum zheap.undo');
my $digest = table_digest($node, 'big');
crash($node);
start_again($node);
is(table_digest($node, 'big'), $digest, 'rows after a crash');
$node->safe_psql('postgres', 'update big set n = n + 1');
cmp_ok(undo_size($node), '<', 20 * $MB, 'the undo relation is short and grows again');

# A steady load: no truncation and growth in turns.  It is long enough for workers to look a few times, and has less undo than is
# worth a truncation even if all of it were kept.
pgbench_run($node, '-c', 4, '-t', 100, '-f', "$scripts/update.sql");
my $lsn = $node->safe_psql('postgres', 'select pg_current_wal_lsn()');
pgbench_run($node, '-c', 4, '-R', 300, '-t', short() ? 600 : 1500, '-f', "$scripts/update.sql");
my $waldump = $node->config_data('--bindir') . '/pg_waldump';
my ($records) = run_command([ $waldump, '-p', $node->data_dir . '/pg_wal', '-s', $lsn, '-e', $node->safe_psql('postgres', 'select pg_current_wal_lsn()'), '-r', 'Storage' ]);
unlike($records // '', qr/TRUNCATE/, 'a steady load is not interrupted by truncation');

# ---- without workers ----

set_and_reload($node, 'zheap.undo_workers = 0');
$node->safe_psql('postgres', 'vacuum zheap.undo');
$node->safe_psql('postgres', 'begin; update big set n = 0; rollback');
usleep(1_000_000);
is($node->safe_psql('postgres', "select count(*) from zheap.zheap_stat_workers where role = 'worker'"), 0, 'no worker runs');
cmp_ok(stat_undo('pending_transactions'), '>', 0, 'a large rollback is pending');
is($node->psql('postgres', 'update big set n = n + 1 where id <= 10'), 0, 'writers go on');
my $frozen = $node->safe_psql('postgres', "select relfrozenxid from pg_class where oid = '" . undo_relation($node) . "'::regclass");
$node->safe_psql('postgres', 'vacuum zheap.undo; update small set n = n; vacuum zheap.undo; vacuum zheap.undo');
is(stat_undo('pending_transactions'), 0, 'VACUUM of the undo relation puts everything back');
cmp_ok(stat_undo('live_bytes'), '<', 4 * $MB, 'and discards');
cmp_ok($node->safe_psql('postgres', "select relfrozenxid from pg_class where oid = '" . undo_relation($node) . "'::regclass"), '>', $frozen, 'and moves relfrozenxid');
set_and_reload($node, "autovacuum = on", "autovacuum_naptime = '1s'");
$node->safe_psql('postgres', 'begin; update big set n = 0; rollback');
# time for statistics to be told, which happens when a backend is idle or exits
ok($node->poll_query_until('postgres', 'select pending_transactions = 0 from zheap.zheap_stat_undo'), 'so does autovacuum');
# a prepared transaction keeps its xid in the commit log
$node->safe_psql('postgres', "begin; update small set n = -1 where id = 1; prepare transaction 'kept'");
my $xid = $node->safe_psql('postgres', 'select transaction from pg_prepared_xacts');
$node->safe_psql('postgres', 'update small set n = n where id > 1') foreach 1 .. 10;
$node->safe_psql('postgres', 'vacuum zheap.undo');
cmp_ok($node->safe_psql('postgres', "select relfrozenxid from pg_class where oid = '" . undo_relation($node) . "'::regclass"), '<=', $xid, 'relfrozenxid stays behind what undo needs');
$node->safe_psql('postgres', "rollback prepared 'kept'");
set_and_reload($node, 'zheap.undo_workers = 3', 'autovacuum = off');
ok($node->poll_query_until('postgres', 'select pending_transactions = 0 from zheap.zheap_stat_undo'), 'workers are back');

$node->stop;
$standby->stop;
no_crash_in_log($node, 'to the end');
no_crash_in_log($standby, 'standby, to the end');
done_testing();
