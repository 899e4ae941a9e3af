# Pages that insertions have filled are marked all-visible by the worker, without VACUUM; not before all see their rows, and not at the
# cost of a standby's queries.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'wal_keep_size = 1GB', 'zheap.undo_workers = 2', 'zheap.undo_worker_naptime = 100ms' ],
	allows_streaming => 1);

$node->safe_psql('postgres', 'create extension pg_visibility');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub marked
{
	my ($table) = @_;

	return sql("select count(*) from pg_visibility('$table') where all_visible");
}

# Until so many pages with rows are left without a mark; bits of map and pages agree.
sub all_marked
{
	my ($table, $but, $what) = @_;
	my $left = "from (select distinct (ctid::text::point)[0]::int as block from $table) r join pg_visibility_map('$table') m on m.blkno = r.block where not all_visible";

	ok(wait_until(sub { sql("select count(*) <= $but $left") eq 't' }), $what) or diag(sql("select blkno $left"));
	is(sql("select count(*) from pg_visibility('$table') where all_visible <> pd_all_visible"), 0, 'map and pages agree');
	return;
}

sub no_worker
{
	return sql("select count(*) from pg_stat_activity where backend_type = 'zheap undo worker'") == 0;
}

# What was rolled back before was pending, so that a worker came; it has gone through all its work.
sub worker_has_been
{
	return wait_until(sub { sql('select coalesce(sum(pending_bytes), 0) = 0 from zheap.zheap_stat_undo') eq 't' }) && wait_until(\&no_worker);
}

sub fetches
{
	my ($table) = @_;
	my $plan = sql("set enable_seqscan = off; set enable_bitmapscan = off; explain (analyze, costs off, timing off, summary off) select count(id) from $table where id > 0");

	return $plan =~ /Heap Fetches: (\d+)/ ? $1 : $plan;
}

# ---- one insertion ----
sql('create table t (id int primary key, pad text) using zheap');
sql("insert into t select g, repeat('p', 60) from generate_series(1, 20000) g");
all_marked('t', 0, 'a bulk insertion: all pages are marked');
is(fetches('t'), 0, 'an index-only scan visits no page');
# VACUUM passes by what is marked, so what is free there has to be known
sql('create extension pg_freespacemap; create table f (id int, pad text) using zheap');
sql("insert into f select g, repeat('p', 1000) from generate_series(1, 71) g");
all_marked('f', 0, 'a page that is nearly empty is marked');
cmp_ok(sql('select pg_relation_size(oid) / 8192 from pg_class where relname = $$f$$'), '==', 11, 'one row is on a page of its own');
ok(wait_until(sub { sql("select avail from pg_freespace('f') where blkno = 10") > 6000 }), 'the free space map has it');
sql('analyze t');
is(sql("select relallvisible = relpages and relpages > 100 from pg_class where relname = 't'"), 't', 'ANALYZE tells the planner');
sql('update t set pad = pad where id = 5000');
cmp_ok(sql("select count(*) from pg_visibility('t') where not all_visible"), '>', 0, 'a change takes the mark');

# ---- COPY, several at once ----
sql('create table c (id int primary key, pad text) using zheap; create sequence s');
sql("copy c (id) from program 'seq 1000001 1020000'");
my $script = PostgreSQL::Test::Utils::tempdir() . '/insert.sql';
append_to_file($script, "insert into c values (nextval('s'), repeat('c', 200));\n");
my ($rc, $out, $err) = pgbench_run($node, '-c', 4, '-j', 2, '-t', 1500, '-f', $script);
is($rc, 0, 'insertions by four sessions') or diag($err);
# not the last ones, which are not full yet
all_marked('c', 8, 'pages that COPY or several sessions have filled are marked');

# ---- old snapshots, rollback ----
my $old = session($node);
$old->query_safe('begin isolation level repeatable read; select 1');
sql("create table o (id int primary key, pad text) using zheap; insert into o select g, repeat('o', 60) from generate_series(1, 5000) g");
# another table's pages are marked meanwhile, or would be
sql("insert into t select g, repeat('p', 60) from generate_series(20001, 25000) g");
sql('begin; insert into o select g from generate_series(5001, 10000) g; rollback');
ok(worker_has_been(), 'a worker has rolled back, and looked for pages to mark');
is(marked('o'), 0, 'not while a snapshot does not see the rows');
$old->query_safe('commit');
all_marked('t', 2, 'when it has ended they are');
ok(wait_until(sub { marked('o') > 40 }), 'those of the other table, too');
is(sql('set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id) from o where id > 0'), '5000|12502500', 'rows that were rolled back are not seen by an index-only scan');

# ---- pages that were changed after they had been noted ----
my ($holder, $deleter, $locker) = map { session($node) } 1 .. 3;
$holder->query_safe('begin isolation level repeatable read; select 1');
sql("create table u (id int primary key, pad text) using zheap; insert into u select g, repeat('u', 60) from generate_series(1, 5000) g");
$deleter->query_safe('begin; delete from u where id = 1');
sql("begin; savepoint s; update u set pad = 'never' where id = 2500; rollback to s; commit");
sql("begin; insert into u values (-1, 'never'); rollback");
$holder->query_safe('commit');
ok(wait_until(sub { marked('u') > 10 }), 'those that have not been are marked');
is(sql("select all_visible or pd_all_visible from pg_visibility('u', 0)"), 'f', 'the one with a row that is being deleted is not');
is(sql('set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id) from u where id > -9'), '5000|12502500', 'and all see it');
$deleter->query_safe('commit');
is(sql('set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id) from u where id > -9'), '4999|12502499', 'until it is deleted');

# ---- a table that is locked for a moment ----
sql('create table l (id int, pad text) using zheap');
$holder->query_safe('begin isolation level repeatable read; select 1');
sql("insert into l select g, repeat('l', 60) from generate_series(1, 5000) g");
sql("insert into t select g, repeat('p', 60) from generate_series(25001, 25500) g");
$locker->query_safe('begin; lock table l');	# that has an xid
$holder->query_safe('commit');
all_marked('t', 3, 'others are marked while a table is locked');
$locker->query_safe('commit');
all_marked('l', 1, 'but later');

# ---- tables that are gone, or others by then ----
$holder->query_safe('begin isolation level repeatable read; select 1');
sql("create table g1 (id int primary key) using zheap; insert into g1 select generate_series(1, 5000); create table g2 (id int primary key) using zheap; insert into g2 select generate_series(1, 5000);"
	. ' create table g3 (id int primary key) using zheap; insert into g3 select generate_series(1, 5000); create table g4 (id int primary key) using zheap');
sql('insert into g4 select generate_series(1, 5000)');
sql('drop table g1');
sql('truncate g2');
sql('cluster g3 using g3_pkey');
sql('delete from g4 where id > 100');
sql("insert into t select g, repeat('p', 60) from generate_series(25501, 26000) g");
$deleter->query_safe('begin; insert into g2 select generate_series(1, 5000)');
$holder->query_safe('commit');
all_marked('t', 3, 'and goes on');
is(sql("set enable_seqscan = off; set enable_bitmapscan = off; select count(*) from $_->[0] where id > 0"), $_->[1], "$_->[0] has its rows and no others") foreach [ 'g2', 0 ], [ 'g3', 5000 ], [ 'g4', 100 ];
is(marked('g2'), 0, 'pages of a transaction in progress are not marked');
$deleter->query_safe('commit');

# ---- a table that grows all the time ----
sql('create table w (id int default nextval($$s$$) primary key, pad text) using zheap');
my $grow = PostgreSQL::Test::Utils::tempdir() . '/grow.sql';
append_to_file($grow, "insert into w (pad) values (repeat('w', 300));\n");
my $growing = IPC::Run::start([ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', 3, '-t', 10_000_000, '-f', $grow, 'postgres' ], '>', \my $grown, '2>&1');
ok(wait_until(sub { marked('w') > 50 }), 'a table that grows is marked meanwhile');
my $once = marked('w');
ok(wait_until(sub { marked('w') > $once + 50 }), 'and goes on to be');
ok($growing->pumpable, 'it still grows');
$growing->kill_kill;
all_marked('w', 8, 'and then all but the last pages');

# ---- databases and extensions that are gone ----
foreach my $db ('gone', 'without')
{
	sql("create database $db");
	$holder->query_safe('begin isolation level repeatable read; select 1') if $db eq 'gone';
	$node->safe_psql($db, 'create extension zheap; create table t (id int) using zheap');
	$node->safe_psql($db, 'insert into t select generate_series(1, 5000)');
}
sql('drop database gone');
$node->safe_psql('without', 'drop extension zheap cascade');
$holder->query_safe('commit');
sql("insert into t select g, repeat('p', 60) from generate_series(26001, 27000) g");
all_marked('t', 3, 'what is noted of a dropped database is not in the way');
# a visit that has nothing to do is not followed by others
ok(wait_until(\&no_worker), 'no worker stays');

# ---- VACUUM knows how many rows there are on pages that it has never read ----
sub rows_known
{
	return sql("select reltuples::int from pg_class where relname = 'e'");
}
sql('create table e (id int primary key, pad text) using zheap');
sql("insert into e select g, repeat('e', 60) from generate_series(1, 10) g");
sql('vacuum e');
is(rows_known(), 10, 'a few rows');
sql("insert into e select g, repeat('e', 60) from generate_series(11, 30000) g");
all_marked('e', 3, 'many have come');
sql('vacuum e');
cmp_ok(abs(rows_known() - 30000), '<', 500, 'it has counted pages that are new since');

# ---- a standby ----
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = 0', 'hot_standby_feedback = off');
sql('create table r (id int primary key, pad text) using zheap');
sql('vacuum zheap.undo');	# no extent is free because of what was before
caught_up($node, $standby);
my $reader = session($standby);
$reader->query_safe('begin isolation level repeatable read; select count(*) from r');
sql("insert into r select g, repeat('r', 60) from generate_series(1, 3000) g");
sql('begin; insert into r values (-1); rollback');	# calls a worker
ok(worker_has_been(), 'it has, and looked for pages to mark');
is(marked('r'), 0, 'with a standby pages are not marked before the logged horizon has passed them');
caught_up($node, $standby);
is($reader->query_safe('select count(*) from r; commit'), 0, 'a query on the standby is not cancelled for it');
$reader->quit;
sql('vacuum zheap.undo');	# logs the horizon
sql('begin; insert into r values (-1); rollback');
all_marked('r', 1, 'then they are');
caught_up($node, $standby);
is($standby->safe_psql('postgres', "select count(*) from pg_visibility('$_') where all_visible"), marked($_), "the standby has the marks, $_") foreach 'c', 'r';
$standby->stop;
$_->quit foreach $old, $holder, $deleter, $locker;
no_crash_in_log($node, 'primary');
$node->stop;
done_testing();
