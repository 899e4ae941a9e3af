# An update that moves a row is one change of one page or of two: one WAL record, no lock record.  Rows are moved between pages in both directions by many
# sessions at once, beside KEY SHARE locks, savepoints, cancels, old snapshots, a standby and crashes; nothing waits for ever, and heap gives the same rows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $primary = new_server('moves', [
		'zheap.max_changed_indexes = 0', "wal_consistency_checking = 'zheap'", 'shared_buffers = 32MB', 'autovacuum = off',
		'max_standby_streaming_delay = 600s', 'wal_keep_size = 1GB' ],
	allows_streaming => 1);
my $standby = new_standby($primary, 'standby', 'hot_standby_feedback = on');
$primary->safe_psql('postgres', 'create extension pg_walinspect');

# a table and its twin on heap, which go the same way
sub twins
{
	my ($name, $rows, $fillfactor, $length) = @_;

	foreach my $am (qw(heap zheap))
	{
		$primary->safe_psql('postgres', <<SQL);
create table ${name}_$am (id int primary key, k int, v text) using $am with (fillfactor = $fillfactor);
alter table ${name}_$am alter v set storage plain;
create index on ${name}_$am (k);
insert into ${name}_$am select g, g, repeat('x', $length) from generate_series(1, $rows) g;
SQL
	}
	return;
}

sub both
{
	my ($name, $sql, $session) = @_;

	foreach my $am (qw(heap zheap))
	{
		my $statement = $sql =~ s/\bTABLE\b/${name}_$am/gr;

		$session ? $session->query_safe($statement) : $primary->safe_psql('postgres', $statement);
	}
	return;
}

sub alike
{
	my ($name, $what) = @_;

	is(table_digest($primary, "${name}_zheap"), table_digest($primary, "${name}_heap"), "$what: as on heap");
	is($primary->safe_psql('postgres', "set enable_seqscan = off; select count(*), sum(id) from ${name}_zheap where k > -1000000000"),
		$primary->safe_psql('postgres', "select count(*), sum(id) from ${name}_heap"), "$what: by the index");
	caught_up($primary, $standby);
	is(table_digest($standby, "${name}_zheap"), table_digest($primary, "${name}_heap"), "$what: on the standby");
	return;
}

# kinds and numbers of records about tables since a place
sub records
{
	my ($since) = @_;

	return $primary->safe_psql('postgres', "select string_agg(record_type || ' ' || n, ', ' order by record_type) from (select record_type, count(*) as n "
		  . "from pg_get_wal_records_info('$since', pg_current_wal_flush_lsn()) where resource_manager = 'zheap' and record_type !~ 'UNDO' group by 1) r");
}

# ---- one record ----

twins('few', 100, 50, 100);
twins('full', 1000, 100, 100);
$primary->safe_psql('postgres', 'vacuum zheap.undo');
my $lsn = $primary->lsn('insert');
both('few', 'update TABLE set k = -k where id % 10 = 0');
is(records($lsn), 'MOVE 10', 'moved on the page: one record for each row');
alike('few', 'moved on the page');

# the last page has room
$lsn = $primary->lsn('insert');
both('full', 'update TABLE set k = -k where id in (1, 100, 200, 300)');
is(records($lsn), 'MOVE 4', 'moved to another page: one record for each row');
is($primary->safe_psql('postgres', "select count(distinct (ctid::text::point)[0]) from full_zheap where k < 0"), '1', 'to the same one');
alike('full', 'moved to another page');

# ---- savepoints, aborts, many moves of one page in a transaction ----

both('few', <<'SQL');
begin;
update TABLE set k = k + 1;
savepoint a;
update TABLE set k = k + 1 where id <= 60;
update TABLE set k = k + 1 where id <= 30;
rollback to a;
update TABLE set k = k + 1, v = repeat('l', 300) where id > 50;
savepoint b;
update TABLE set v = 'short', k = -k;
release b;
update TABLE set k = k + 1 where id % 2 = 0;
commit;
begin;
update TABLE set k = k + 100;
update TABLE set k = k + 100, v = repeat('m', 200);
rollback;
SQL
alike('few', 'savepoints');
wait_undone($primary, 'what was rolled back is rolled back');
alike('few', 'rolled back');
both('few', join('; ', map { "update TABLE set k = k + $_, v = repeat('q', 50 * ($_ % 3))" } 1 .. 40));
alike('few', 'many moves of the same rows');

# ---- old snapshots, here and on the standby ----

my $old = session($primary);
my $there = session($standby);
my $seen = "select count(*), coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '')";
my $before = table_digest($primary, 'few_heap');

$old->query_safe('begin isolation level repeatable read; select 1 from few_zheap limit 1');
$there->query_safe('begin isolation level repeatable read; select 1 from few_zheap limit 1');
wait_for_feedback($primary, $standby);
for my $i (1 .. 10)
{
	both('few', "update TABLE set k = -k, v = repeat('o', 100 * ($i % 4)) where id % 3 = $i % 3");
	both('few', 'begin; update TABLE set k = 0 where id % 2 = 0; rollback');
	is($old->query_safe("$seen from few_zheap t"), $before, "moved $i times: the old snapshot");
	caught_up($primary, $standby);
	is($there->query_safe("$seen from few_zheap t"), $before, "moved $i times: the old snapshot on the standby");
}
$_->query_safe('commit') foreach $old, $there;
$_->quit foreach $old, $there;
alike('few', 'moved back and forth');

# ---- who waits for a row that moves, and is cancelled ----

my ($one, $two) = (session($primary), session($primary));
$one->query_safe('begin; update full_zheap set k = 7777 where id = 10');
begin_in($two, 'update full_zheap set k = 8888 where id = 10');
ok($primary->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $two->{pid}"), 'a move waits for a move');
$primary->safe_psql('postgres', "select pg_cancel_backend($two->{pid})");
ok(wait_until(sub { ended($two) }), 'it is cancelled');
like($two->{answer}, qr/canceling statement due to user request/, 'and says so');
begin_in($two, 'update full_zheap set k = 8888 where id = 10');
ok($primary->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $two->{pid}"), 'it waits again');
$one->query_safe('commit');
ok(wait_until(sub { ended($two) }), 'and goes on');
$primary->safe_psql('postgres', 'update full_heap set k = 8888 where id = 10');
alike('full', 'one after the other');

# A to B and B to A, and a key lock on the old row before and after
$one->query_safe('begin; update full_zheap set k = 1 where id = 20');
$two->query_safe('begin; select 1 from full_zheap where id = 20 for key share');
$two->query_safe('update full_zheap set k = 2 where id = 900');
$one->query_safe('update full_zheap set k = 3 where id = 21');
$two->query_safe('select 1 from full_zheap where id = 21 for key share');
$one->query_safe('commit');
begin_in($one, 'delete from full_zheap where id = 20');
ok($primary->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $one->{pid}"), 'the moved row is still locked for its key');
$two->query_safe('commit');
ok(wait_until(sub { ended($one) }), 'until the lock is gone');
both('full', 'delete from TABLE where id = 20; update TABLE set k = 1 where id = 20; update TABLE set k = 2 where id = 900; update TABLE set k = 3 where id = 21');
alike('full', 'key locks');
$_->quit foreach $one, $two;

# ---- many sessions: rows grow and shrink, so that they leave pages and come back ----

twins('busy', 600, 100, 60);
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/move.sql", <<'SQL');
\set id random(1, 600)
\set other random(1, 600)
\set len random(0, 400)
begin;
update busy_zheap set v = repeat('b', :len), k = k + 1 where id = least(:id, :other);
update busy_zheap set k = k - 1 where id = greatest(:id, :other);
commit;
SQL
append_to_file("$scripts/key.sql", <<'SQL');
\set id random(1, 600)
begin;
select 1 from busy_zheap where id = :id for key share;
savepoint s;
update busy_zheap set k = k + 5, v = repeat('c', 200) where id = :id;
rollback to s;
commit;
SQL
append_to_file("$scripts/again.sql", <<'SQL');
\set id random(1, 600)
begin;
delete from busy_zheap where id = :id;
insert into busy_zheap values (:id, 0, 'again') on conflict do nothing;
rollback;
SQL
my ($rc, $out, $err) = pgbench_run($primary, '-c', 8, '-j', 2, '-t', short() ? 100 : 400,
	'-f', "$scripts/move.sql\@6", '-f', "$scripts/key.sql\@2", '-f', "$scripts/again.sql\@1");
is($rc, 0, 'many sessions move rows');
unlike($err, qr/deadlock|invalid|corrupt/, 'and none fails');
wait_undone($primary, 'what was rolled back is rolled back');
is($primary->safe_psql('postgres', 'select count(*), count(distinct id), min(id), max(id) from busy_zheap'), '600|600|1|600', 'each row is there once');
is($primary->safe_psql('postgres', 'set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(k) from busy_zheap where id > 0'),
	$primary->safe_psql('postgres', 'set enable_indexscan = off; set enable_bitmapscan = off; select count(*), sum(k) from busy_zheap'), 'by the key as well');
caught_up($primary, $standby);
is(table_digest($standby, 'busy_zheap'), table_digest($primary, 'busy_zheap'), 'on the standby as well');

# ---- crash, with moves that have committed and some that have not ----

my $digest = table_digest($primary, 'busy_zheap');
my $open = session($primary);
$open->query_safe("begin; update busy_zheap set k = -1, v = repeat('d', 300)");
both('full', 'update TABLE set k = -k - 1 where id % 4 = 0');
$primary->safe_psql('postgres', 'checkpoint');
$open->query_safe("update busy_zheap set k = -2, v = 'e'");
both('full', 'update TABLE set k = -k - 1 where id % 5 = 0');
crash($primary);
$open->{run}->kill_kill;
start_again($primary);
is(table_digest($primary, 'busy_zheap'), $digest, 'after a crash: the moves in progress never were');
alike('full', 'after a crash');
wait_undone($primary, 'all is rolled back');
is(table_digest($primary, 'busy_zheap'), $digest, 'and the rows are as they were');
both('full', 'update TABLE set k = -k - 1');
alike('full', 'and go on');

# ---- tables that write no WAL ----

foreach my $kind ('temporary', 'unlogged')
{
	is($primary->safe_psql('postgres', <<SQL), 't|t', "a table that is $kind");
create $kind table a (id int primary key, k int, v text) using heap;
create $kind table b (id int primary key, k int, v text) using zheap;
create index on b (k);
insert into a select g, g, repeat('x', 60) from generate_series(1, 500) g;
insert into b select * from a;
begin; update b set k = -k; savepoint s; update b set k = 5, v = repeat('y', 200); rollback to s; update b set v = repeat('z', 150) where id % 3 = 0; commit;
begin; update b set k = 9; rollback;
update a set k = -k; update a set v = repeat('z', 150) where id % 3 = 0;
select not exists (select * from a except select * from b), not exists (select * from b except select * from a);
drop table a, b;
SQL
}

# a new file with wal_level = minimal: its undo is in WAL, in records of its own
my $minimal = new_server('minimal', [ 'wal_level = minimal', 'max_wal_senders = 0', 'zheap.max_changed_indexes = 0', 'autovacuum = off' ]);
foreach my $am (qw(heap zheap))
{
	$minimal->safe_psql('postgres', <<SQL);
begin;
create table new_$am (id int primary key, k int, v text) using $am;
create index on new_$am (k);
insert into new_$am select g, g, repeat('x', 60) from generate_series(1, 500) g;
update new_$am set k = -k;
savepoint s;
update new_$am set k = 5, v = repeat('y', 200);
rollback to s;
update new_$am set v = repeat('z', 150) where id % 3 = 0;
commit;
SQL
}
crash($minimal);
start_again($minimal);
wait_undone($minimal, 'after a crash what was rolled back is rolled back');
is(table_digest($minimal, 'new_zheap'), table_digest($minimal, 'new_heap'), 'wal_level = minimal: as on heap');

no_crash_in_log($minimal, 'minimal');
no_crash_in_log($primary, 'primary');
no_crash_in_log($standby, 'standby');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'no page differs');
$_->stop foreach $minimal, $standby, $primary;
done_testing();
