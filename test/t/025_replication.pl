# Physical replication: conflicts as heap's, feedback, a cascade, promotion with open and prepared work, pg_rewind, timelines.
# Tables have the same contents on all servers whenever they have caught up; what aborted is rolled back by the promoted server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $turns = short() ? 200 : 1000;
my $a = new_server('a', [ 'wal_log_hints = on', 'wal_keep_size = 512MB', 'max_wal_size = 1GB', 'shared_buffers = 16MB',
		'max_prepared_transactions = 10', 'zheap.undo_worker_naptime = 10ms' ],
	allows_streaming => 1);
my @tables = qw(acc hist one wide);
$a->safe_psql('postgres', <<'SQL');
create table acc (id int primary key, n int, v text) using zheap;
create index acc_n on acc (n);
create table hist (id int, n int) using zheap;
create table one (id int primary key, n int) using zheap;
create table wide (id int primary key, v text) using zheap;
insert into acc select g, 0, 'v' || g from generate_series(1, 5000) g;
insert into one values (1, 0);
insert into wide select g, (select string_agg(md5((g * i)::text), '') from generate_series(1, 150) i) from generate_series(1, 30) g;
create table conflict_heap (id int primary key, v text) using heap;
create table conflict_zheap (id int primary key, v text) using zheap;
insert into conflict_heap select g, 'old' from generate_series(1, 1000) g;
insert into conflict_zheap select g, 'old' from generate_series(1, 1000) g;
SQL
my $load = $a->basedir . '/load.sql';
append_to_file($load, <<'SQL');
\set a random(1, 5000)
\set b random(1, 5000)
\set d random(-100, 100)
begin;
update one set n = n + :d;
update acc set n = n + :d where id = :a;
update acc set n = n - :d where id = :b;
savepoint s;
update acc set v = 'gone', n = n + 100000 where id between :a and :a + 4;
rollback to s;
insert into hist values (:a, :d);
update wide set v = v || 'x' where id = :a % 30;
commit;
begin; update one set n = 1000000; delete from acc where id between :b and :b + 9; insert into hist values (0, 1000000); rollback;
SQL

sub same
{
	my ($what, $primary, @standbys) = @_;
	my $expected = join(' ', map { table_digest($primary, $_) } @tables);

	caught_up($primary, @standbys);
	foreach my $node (@standbys)
	{
		is(join(' ', map { table_digest($node, $_) } @tables), $expected, "$what: " . $node->name . ' is the same');
	}
	return;
}

# What a consistent state of the load looks like.
my $consistent = "select (select sum(n) from acc) = 0 and (select n from one) = (select coalesce(sum(n), 0) from hist) "
  . "and (select count(*) from acc where v = 'gone') = 0 and (select count(*) from acc) = 5000";

my $b = new_standby($a, 'b', 'max_standby_streaming_delay = 600s');
my $c = new_standby($b, 'c', 'max_standby_streaming_delay = 600s');

# two standbys, one behind the other, read while pgbench runs
my $run = pgbench_start($a, '-c', 6, '-j', 2, '-t', $turns, '-f', $load);
my ($reads, $wrong) = (0, 0);
while ($run->{handle}->pumpable && $reads < 60)
{
	foreach my $node ($b, $c)
	{
		$wrong++ unless $node->safe_psql('postgres', "begin isolation level repeatable read; $consistent") eq 't';
		$reads++;
	}
}
my ($rc, $out, $err) = pgbench_finish($run);
is($rc, 0, 'load on the primary') or diag($err);
is($wrong, 0, "$reads reads on the standbys, each consistent");
same('after the load', $a, $b, $c);

# what a standby cannot do
($rc, $out, $err) = $b->psql('postgres', 'vacuum zheap.undo');
isnt($rc, 0, 'no VACUUM on a standby');
($rc, $out, $err) = $b->psql('postgres', 'select * from zheap.zheap_undo_stats()');
is($rc, 0, 'statistics on a standby');
($rc, $out, $err) = $b->psql('postgres', 'select id from acc where id = 1 for update');
like($err, qr/cannot execute SELECT FOR UPDATE in a read-only transaction/, 'no row locks on a standby');

# Conflicts: a long query in the way of cleanup is cancelled on either access method, and not before the delay is over.
$b->append_conf('postgresql.conf', "max_standby_streaming_delay = 1s\nhot_standby_feedback = off\n");
$b->reload;
foreach my $table (qw(conflict_heap conflict_zheap))
{
	my $reader = $b->background_psql('postgres', on_error_stop => 0);

	$reader->query_safe('begin isolation level repeatable read');
	is($reader->query_safe("select count(*) from $table where v = 'old'"), '1000', "$table: a long transaction on the standby");
	# what the reader needs goes: dead rows here, undo there
	$a->safe_psql('postgres', "update $table set v = 'new'");
	$a->safe_psql('postgres', "update $table set v = 'newer'; delete from $table where id > 500");
	$a->safe_psql('postgres', 'select txid_current()') for 1 .. 3;
	$a->safe_psql('postgres', "vacuum $table; vacuum zheap.undo");
	$a->safe_psql('postgres', 'select txid_current()');
	caught_up($a, $b);
	my $now = eval { scalar $reader->query("select count(*) from $table where v = 'old'") };
	ok(!defined $now || $reader->{stderr} =~ /conflict with recovery/, "$table: it is cancelled, and sees nothing wrong");
	eval { $reader->quit };
}
ok($b->poll_query_until('postgres', 'select confl_snapshot >= 2 from pg_stat_database_conflicts where datname = current_database()'), 'two conflicts of the same kind at least: who looks may be in the way as well');
unlike(slurp_file($b->logfile), qr/damaged|PANIC|TRAP/, 'none of them by damage');

# with feedback nobody is cancelled, however much is vacuumed
$b->append_conf('postgresql.conf', "hot_standby_feedback = on\n");
$b->reload;
my $reader = $b->background_psql('postgres');
$reader->query_safe('begin isolation level repeatable read');
my $view = $reader->query_safe('select count(*), sum(n), md5(string_agg(acc::text, \'\' order by id)) from acc');
wait_for_feedback($a, $b);
pgbench_run($a, '-c', 4, '-t', $turns / 2, '-f', $load);
$a->safe_psql('postgres', 'vacuum');
caught_up($a, $b);
is($reader->query_safe('select count(*), sum(n), md5(string_agg(acc::text, \'\' order by id)) from acc'), $view, 'with feedback the view stays');
$reader->query_safe('commit');
$reader->quit;
same('after conflicts', $a, $b, $c);

# a prepared transaction, one in progress, one aborted
my $open = $a->background_psql('postgres');
$a->safe_psql('postgres', "begin; update acc set v = 'prepared' where id <= 100; insert into hist values (7, 0); prepare transaction 'in_doubt'");
$a->safe_psql('postgres', "begin; update acc set v = 'prepared 2' where id between 101 and 200; prepare transaction 'in_doubt_2'");
$open->query_safe('begin');
$open->query_safe("update acc set v = 'open', n = n + 1 where id between 1001 and 4000; delete from acc where id > 4500; insert into hist select g, g from generate_series(1, 2000) g; update one set n = -1; update wide set v = 'open'");
$a->safe_psql('postgres', "begin; update acc set v = 'aborted' where id between 300 and 900; update acc set v = 'twice' where id < 400 and id >= 300; rollback; checkpoint");
my $before = join(' ', map { table_digest($a, $_) } @tables);
caught_up($a, $b, $c);
is(join(' ', map { table_digest($c, $_) } @tables), $before, 'on the cascade, before promotion');

# sessions of the standby live on through the promotion
my $through = $b->background_psql('postgres');
is($through->query_safe($consistent), 't', 'a session on the standby');
my $cursor = $b->background_psql('postgres');
$cursor->query_safe('begin isolation level repeatable read');
$cursor->query_safe('declare cu cursor for select id, v from acc order by id');
$cursor->query_safe('fetch 150 from cu');
$b->promote;
ok($b->poll_query_until('postgres', 'select not pg_is_in_recovery()'), 'promoted');
is($b->safe_psql('postgres', "select $_") , 't', "promoted: $_") foreach ("($consistent)");
is(join(' ', map { table_digest($b, $_) } @tables), $before, 'promoted: all rows');
is($b->safe_psql('postgres', "set lock_timeout = '60s'; select count(*) from (select from acc where id between 1 and 210 for update skip locked) x"), '10', 'rows in doubt are locked');
$b->safe_psql('postgres', "commit prepared 'in_doubt'");
is($b->safe_psql('postgres', "select count(*) from acc where v = 'prepared'"), '100', 'and committed');
like($cursor->query_safe('fetch 1000 from cu'), qr/^151\|v151\n/, 'a cursor from before promotion goes on');
unlike($cursor->query_safe('fetch all from cu'), qr/open|aborted|prepared/, 'to the end');
$cursor->quit;
is($through->query_safe($consistent), 't', 'the session on the standby goes on');
$through->query_safe("update acc set v = 'written after' where id = 250");
$b->safe_psql('postgres', "rollback prepared 'in_doubt_2'");
wait_undone($b, 'what was cut off is rolled back');
is($b->safe_psql('postgres', "select $_") , 't', "rolled back: $_") foreach ("($consistent)");
is($b->safe_psql('postgres', "select count(*) from acc where v in ('open', 'aborted', 'twice', 'prepared 2')"), '0', 'nothing of it is left');
$through->quit;
btrees_agree($b, 'promoted', qw(acc_pkey acc_n one_pkey wide_pkey));
($rc, $out, $err) = pgbench_run($b, '-c', 4, '-t', $turns / 2, '-f', $load);
is($rc, 0, 'load on the promoted server') or diag($err);

# the cascade follows to the new timeline
same('new timeline', $b, $c);
is($c->safe_psql('postgres', 'select received_tli from pg_stat_wal_receiver'), '2', 'on timeline 2');

# The old primary has gone on: other commits, recycled undo, new extents.  pg_rewind takes that back.
$open->query_safe('commit');
$open->quit;
$a->safe_psql('postgres', "commit prepared 'in_doubt_2'; rollback prepared 'in_doubt'; insert into hist select g, g from generate_series(1, 5000) g; update acc set v = 'lost'; update acc set v = 'lost again', n = 5; create table lost (i int) using zheap; insert into lost select generate_series(1, 1000); vacuum; vacuum zheap.undo");
pgbench_run($a, '-c', 8, '-t', $turns / 4, '-f', $load);
$a->safe_psql('postgres', "begin; delete from acc; rollback");
$a->stop('fast');
$b->safe_psql('postgres', 'checkpoint');
my $conf = slurp_file($a->data_dir . '/postgresql.conf');
$a->command_ok([ 'pg_rewind', '--target-pgdata', $a->data_dir, '--source-server', $b->connstr('postgres'), '--no-sync' ], 'pg_rewind');
unlink $a->data_dir . '/postgresql.conf';
append_to_file($a->data_dir . '/postgresql.conf', $conf);
$a->append_conf('postgresql.conf', "primary_conninfo = '" . $b->connstr . " application_name=a'\n");
$a->set_standby_mode();
$a->start;
same('rewound', $b, $a, $c);
is($a->safe_psql('postgres', "select count(*) from pg_class where relname = 'lost'"), '0', 'what was lost is lost');
pgbench_run($b, '-c', 4, '-t', $turns / 2, '-f', $load);
same('after more load', $b, $a, $c);

# back again: the rewound server takes over
$b->stop('fast');
$a->promote;
$a->poll_query_until('postgres', 'select not pg_is_in_recovery()');
is($a->safe_psql('postgres', "select $_") , 't', "back: $_") foreach ("($consistent)");
($rc, $out, $err) = pgbench_run($a, '-c', 4, '-t', $turns / 4, '-f', $load);
is($rc, 0, 'load on the rewound server');
wait_undone($a, 'all is rolled back');
is($a->safe_psql('postgres', "select $_") , 't', "at the end: $_") foreach ("($consistent)");
btrees_agree($a, 'at the end', qw(acc_pkey acc_n one_pkey wide_pkey));
$c->stop;
$a->stop;
no_crash_in_log($_, $_->name) foreach ($a, $b, $c);
done_testing();
