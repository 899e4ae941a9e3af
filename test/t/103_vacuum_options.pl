# VACUUM's options on a zheap table and on a heap table beside it: parallel index vacuum, INDEX_CLEANUP, TRUNCATE, page skipping, SKIP_LOCKED,
# cost delay, progress, failsafe, and what a cancelled one or a cancelled autovacuum leaves. What is told and what is done agree.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = 20_000;
my $node = new_server('options', [ 'autovacuum = off', 'shared_buffers = 64MB', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h', 'deadlock_timeout = 100ms',
		'min_parallel_index_scan_size = 0', 'max_parallel_maintenance_workers = 4', 'max_parallel_workers = 8', 'autovacuum_freeze_max_age = 100000',
		'zheap.remove_dead_entries = off', 'zheap.max_changed_indexes = 100', 'zheap.undo_workers = 0' ]);
my @both = qw(h z);
my %am = (h => 'heap', z => 'zheap');

$node->safe_psql('postgres', 'create extension amcheck');

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# The two tables anew, with the statements in which T stands for their name.
sub make
{
	my ($sql, $options) = @_;

	foreach my $t (@both)
	{
		my $with = $options ? "with ($options)" : '';
		my $do = $sql =~ s/\bT/$t/gr;

		ask("drop table if exists $t; create table $t (id int primary key, k int, pad text) using $am{$t} $with; $do");
	}
	# so that all is dead to all: what was done before is over
	ask('select pg_current_xact_id()');
	return;
}

# What a VACUUM with these options has told.
sub vacuum
{
	my ($table, $options, $before) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', ($before // '') . "vacuum (verbose, $options) $table");

	is($rc, 0, "VACUUM ($options) of $am{$table}") or diag($err);
	return $err;
}

# A figure of it that must be there.
sub figure
{
	my ($told, $pattern) = @_;

	return $told =~ $pattern ? $1 : "none in: $told";
}

my $dead = qr/had (\d+) dead item identifiers removed/;
my $left = qr/have (\d+) dead item identifiers/;
my $scans = qr/index scans: (\d+)/;

sub pages
{
	return ask("select pg_relation_size('$_[0]') / current_setting('block_size')::int");
}

# Each index has each row, and no more.
sub sound
{
	my ($what) = @_;

	foreach my $t (@both)
	{
		my ($rc, $out, $err) = $node->psql('postgres',
			"select bt_index_parent_check(indexrelid, true) from pg_index i join pg_class c on c.oid = indexrelid where indrelid = '$t'::regclass and relam = 403");
		is($rc, 0, "$what: indexes of $am{$t} are sound") or diag($err);
	}
	is(ask('select count(*), sum(id), sum(k) from z'), ask('select count(*), sum(id), sum(k) from h'), "$what: the same rows");
	is(ask('set enable_seqscan = off; set enable_bitmapscan = off; select count(pad), sum(k) from z where id > -1'),
		ask('set enable_seqscan = off; set enable_bitmapscan = off; select count(pad), sum(k) from h where id > -1'), "$what: by index as well");
	return;
}

# ---- parallel ----

my $indexes = 'create index T_k on T (k); create index T_p on T (pad); create index T_g on T using gin ((array[k]));';
my $fill = "insert into T select g, g % 1000, 'p' || g from generate_series(1, $rows) g;";
foreach my $workers (2, 0)
{
	make("$fill $indexes delete from T where id % 3 = 0;");
	my %told = map { $_ => vacuum($_, "parallel $workers") } @both;
	foreach my $t (@both)
	{
		if ($workers)
		{
			like($told{$t}, qr/launched $workers parallel vacuum workers for index vacuuming \(planned: $workers\)/, "$am{$t}: workers are launched");
		}
		else
		{
			unlike($told{$t}, qr/launched/, "$am{$t}: none is, with PARALLEL 0");
		}
		is(figure($told{$t}, $dead), int($rows / 3), "$am{$t}: all dead rows");
		is(figure($told{$t}, $scans), 1, "$am{$t}: in one round");
		like($told{$t}, qr/index "${t}_$_": pages: \d+ in total/, "$am{$t}: told of index $_") foreach qw(pkey k p g);
	}
	my $figures = "select string_agg(substr(relname, 3) || ' ' || reltuples, ', ' order by relname) from pg_class where relname in ";
	is(ask("$figures ('z', 'z_pkey', 'z_k', 'z_p')"), ask("$figures ('h', 'h_pkey', 'h_k', 'h_p')"), 'the same figures in pg_class');
	sound("with PARALLEL $workers");
}

# memory for only some of the dead rows; since PostgreSQL 17 workers share it in segments of 256 kB, the first of which is soon full
my ($memory, $many) = pg_major() < 17 ? ('1MB', 200_000) : ('256kB', 20_000);
make("insert into T select g, g from generate_series(1, $many) g; create index T_k on T (k); delete from T where id <= 0.95 * $many;");
cmp_ok(figure(vacuum($_, 'parallel 2', "set maintenance_work_mem = '$memory'; "), $scans), '>', 1, "$am{$_}: several rounds, in parallel") foreach @both;
sound('after several rounds');

# what is known of indexes whose keys have changed is not lost
foreach my $workers (2, 0)
{
	make("$fill create index T_k on T (k); create index T_p on T (pad);");
	ask('update z set k = k + 1000000');
	my $told = '';
	ok(wait_until(sub { $told = vacuum('z', "parallel $workers, index_cleanup on"); $told =~ /keys that rows had before: [1-9]/ }), "PARALLEL $workers: old keys are removed");
	like($told, qr/index "z_k": pages: \d+ in total, [1-9]\d* newly deleted/, "PARALLEL $workers: empty pages of the index are deleted, and it is told");
	is(ask("select reltuples from pg_class where relname = 'z_k'"), $rows, "PARALLEL $workers: pg_class knows how many entries are left");
}

# ---- cost delay, and progress ----

my $slow = "set vacuum_cost_delay = '10ms'; set vacuum_cost_limit = 1; ";

my ($dead_rows, $kept, $room) = pg_major() < 17 ? qw(num_dead_tuples num_dead_tuples max_dead_tuples)
  : qw(num_dead_item_ids dead_tuple_bytes max_dead_tuple_bytes);

# Look at the VACUUM of a process until it has ended: phases in which it slept for its cost, in their order, and whether numbers only grow.
ask(<<'SQL' =~ s/KEPT/$kept/r =~ s/ROOM/$room/r =~ s/DEAD_ROWS/$dead_rows/r);
create function watch(process int) returns text language plpgsql as $$
declare
	p record;
	seen text[] := '{}';
	scanned bigint := 0;
	vacuumed bigint := 0;
	counted bigint := 0;
	well boolean := true;
	bad text;
begin
	loop
		perform pg_stat_clear_snapshot();
		select v.*, a.wait_event, a.state into p from pg_stat_get_activity(process) a left join pg_stat_progress_vacuum v on v.pid = a.pid;
		exit when p.state = 'idle' and cardinality(seen) > 0;
		perform pg_sleep(0.001);
		if p.phase is null then continue; end if;
		if p.wait_event = 'VacuumDelay' and not p.phase = any (seen) then seen := seen || p.phase; end if;
		well := well and p.heap_blks_scanned >= scanned and p.heap_blks_vacuumed >= vacuumed and p.heap_blks_scanned <= p.heap_blks_total and
			p.heap_blks_vacuumed <= p.heap_blks_total and p.index_vacuum_count between counted and 1 and p.KEPT <= p.ROOM;
		-- the indexes count as vacuumed a moment before the next phase is told
		if p.phase = 'vacuuming indexes' then well := well and p.heap_blks_scanned = p.heap_blks_total and p.DEAD_ROWS = 2500; end if;
		if p.phase = 'scanning heap' then well := well and p.index_vacuum_count = 0; end if;
		if p.phase = 'vacuuming heap' then well := well and p.index_vacuum_count = 1; end if;
		if not well and bad is null then bad := to_jsonb(p); end if;
		scanned := p.heap_blks_scanned;
		vacuumed := p.heap_blks_vacuumed;
		counted := p.index_vacuum_count;
	end loop;
	return array_to_string(seen, ', ') || '; ' || coalesce(bad, 'true');
end $$;
SQL

my %session = map { $_ => session($node) } @both;
my %watcher = map { $_ => session($node) } @both;
$session{$_}->query_safe($slow) foreach @both;
foreach my $t (@both)
{
	# once more if the watcher was too slow to see each phase
	ok(wait_until(sub {
		make("insert into T select g, g, repeat('p', 60) from generate_series(1, 5000) g; delete from T where id % 2 = 0;");
		begin_in($watcher{$t}, "select watch($session{$t}{pid})");
		begin_in($session{$t}, "vacuum (truncate off, process_toast off) $t");
		wait_until(sub { ended($session{$t}) && ended($watcher{$t}) }) or return 0;
		return $watcher{$t}{answer} !~ /; true$/ || $watcher{$t}{answer} =~ /^(?:[a-z]+ [a-z]+(?:, |;)){3}/;
	}), "$am{$t}: VACUUM with a cost delay comes to its end, and was watched");
	is($watcher{$t}{answer}, 'scanning heap, vacuuming indexes, vacuuming heap; true', "$am{$t}: it sleeps in each phase, and its progress is right");
}

# ---- cancelled while indexes are worked on ----

sub progress
{
	my ($t, $columns) = @_;

	return ask("select $columns from pg_stat_progress_vacuum p join pg_stat_activity a using (pid) where pid = $session{$t}{pid}");
}

# VACUUM waits at the primary key for a leaf page that an index-only scan keeps pinned, until it is cancelled.
sub cancelled_at_an_index
{
	my ($t, $options, $pattern) = @_;
	my $reader = session($node);
	my $select = "select id from $t where id > 0";

	$reader->query_safe('set enable_seqscan = off; set enable_bitmapscan = off; begin');
	like($reader->query_safe("explain (costs off) $select"), qr/^Index Only Scan using ${t}_pkey/, "$am{$t}: an index-only scan");
	$reader->query_safe("declare c cursor for $select");
	$reader->query_safe('fetch c');
	begin_in($session{$t}, "vacuum $options $t");
	ok(wait_until(sub { progress($t, 'phase') eq 'vacuuming indexes' || ended($session{$t}) }), "$am{$t}: at an index");
	ask("select pg_cancel_backend($session{$t}{pid})");
	ok(wait_until(sub { ended($session{$t}) }), "$am{$t}: is cancelled");
	like($session{$t}{answer}, $pattern, "$am{$t}: and tells where it was");
	$reader->quit;
	return;
}

make("$fill delete from T where id % 2 = 0;");
cancelled_at_an_index($_, '',
	qr/ERROR:  canceling statement due to user request\nCONTEXT:  while vacuuming index "${_}_pkey" of relation "public.$_"/) foreach @both;
sound('after a cancelled one');
make("$fill $indexes delete from T where id % 2 = 0;");
cancelled_at_an_index($_, '(parallel 2)', qr/ERROR:  canceling statement due to user request/) foreach @both;
ok($node->poll_query_until('postgres', "select count(*) = 0 from pg_stat_activity where backend_type = 'parallel worker'"), 'no worker is left');
sound('after a cancelled parallel one');
is(figure(vacuum($_, 'parallel 2'), $dead), $rows / 2, "$am{$_}: the next one does it all") foreach @both;
sound('after the next one');

# ---- INDEX_CLEANUP ----

make("$fill create index T_k on T (k); delete from T where id % 4 = 0;");
foreach my $t (@both)
{
	my $told = vacuum($t, 'index_cleanup off');

	is(figure($told, $left), $rows / 4, "$am{$t}: INDEX_CLEANUP OFF leaves line pointers");
	unlike($told, qr/index "/, "$am{$t}: and indexes alone");
	is(figure($told, $scans), 0, "$am{$t}: no round");
}
is(ask("select count(*) from generate_series(0, pg_relation_size('z') / 8192 - 1) b, zheap.zheap_page_items('z', b) i where i.lp_flags = 'dead'"), $rows / 4, 'zheap: they are dead');
sound('without index cleanup');
is(figure(vacuum($_, 'index_cleanup auto'), $dead), $rows / 4, "$am{$_}: AUTO does many") foreach @both;
sound('with index cleanup');
make("insert into T select g, g, repeat('p', 100) from generate_series(1, $rows) g; create index T_k on T (k); delete from T where id = 7;");
foreach my $t (@both)
{
	cmp_ok(pages($t), '>', 100, "$am{$t}: a larger table");
	is(figure(vacuum($t, 'index_cleanup auto'), $left), 1, "$am{$t}: AUTO leaves a single one");
	is(figure(vacuum($t, 'index_cleanup on'), $dead), 1, "$am{$t}: ON does not");
}
make("$fill delete from T where id % 4 = 0;", 'vacuum_index_cleanup = off');
is(figure(vacuum($_, 'analyze'), $left), $rows / 4, "$am{$_}: off as the table's storage parameter") foreach @both;
is(figure(vacuum($_, 'index_cleanup on'), $dead), $rows / 4, "$am{$_}: which the option overrides") foreach @both;

# ---- TRUNCATE, and whom it waits for ----

make("$fill delete from T where id > 100;");
foreach my $t (@both)
{
	my $size = pages($t);

	unlike(vacuum($t, 'truncate off'), qr/truncated/, "$am{$t}: TRUNCATE OFF");
	is(pages($t), $size, "$am{$t}: keeps the pages");
	like(vacuum($t, 'truncate on'), qr/table "$t": truncated $size to 1 pages/, "$am{$t}: TRUNCATE ON gives them back");
	is(pages($t), 1, "$am{$t}: one is left");
}
my $holder = session($node);
$session{$_}->query_safe("set vacuum_cost_delay = 0; set client_min_messages = info") foreach @both;
foreach my $t (@both)
{
	my $told = '';

	# once more if the machine was so slow that it had given up
	ok(wait_until(sub {
		make("$fill delete from T where id > 100;");
		$holder->query_safe("begin; lock table $t in access share mode");
		begin_in($session{$t}, "vacuum (verbose) $t");
		my $at = '';
		wait_until(sub { $at = progress($t, "phase, wait_event, heap_blks_scanned = heap_blks_total, heap_blks_vacuumed = heap_blks_total, index_vacuum_count"); $at =~ /VacuumTruncate/ || ended($session{$t}) });
		$holder->query_safe('commit');
		wait_until(sub { ended($session{$t}) }) or return 0;
		$told = $at;
		return pages($t) == 1;
	}), "$am{$t}: a short lock of another session does not keep it from truncating");
	is($told, 'truncating heap|VacuumTruncate|t|t|1', "$am{$t}: it waits, and all is told to be done but this");
}
make("$fill delete from T where id > 100;");
my %size = map { $_ => pages($_) } @both;
$holder->query_safe('begin; lock table h, z in access share mode');
begin_in($session{$_}, "vacuum (verbose) $_") foreach @both;
foreach my $t (@both)
{
	ok(wait_until(sub { ended($session{$t}) }), "$am{$t}: a long one does");
	like($session{$t}{answer}, qr/"$t": stopping truncate due to conflicting lock request/, "$am{$t}: as it says");
	is(pages($t), $size{$t}, "$am{$t}: the pages stay");
}
$holder->query_safe('commit');
sound('not truncated');

# ---- what is told of rows that an old snapshot sees ----

make($fill);
$holder->query_safe('begin isolation level repeatable read; select 1');
ask("delete from $_ where id % 2 = 0") foreach @both;
my @figures = map { join(', ', grep { defined } vacuum($_, 'analyze off', 'set track_io_timing = on; ') =~
	  /^(tuples: .*)$|^(I\/O timings): read|^(avg read rate)|^(buffer usage)|^(WAL usage)|^(system usage)/mg) } @both;
is($figures[1], $figures[0], 'both tell the same');
like($figures[0], qr/^tuples: 0 removed, $rows remain, \d+ are dead but not yet removable, I\/O/, 'that it cannot be removed');
$holder->query_safe('commit');

# ---- others ----

make("$fill");
ask("vacuum $_") foreach @both;
foreach my $t (@both)
{
	my ($remain, $scanned) = vacuum($t, 'analyze off') =~ /(\d+) remain, (\d+) scanned/;

	cmp_ok($scanned, '<', $remain, "$am{$t}: all-visible pages are passed by") if $t eq 'z';
	($remain, $scanned) = vacuum($t, 'disable_page_skipping') =~ /(\d+) remain, (\d+) scanned/;
	is($scanned, $remain, "$am{$t}: not with DISABLE_PAGE_SKIPPING");
}
$holder->query_safe('begin; lock table h, z in access exclusive mode');
# what both say of the same command, of heap's in zheap's name
foreach my $command ('(skip_locked) T', '(skip_locked, analyze) T', '(skip_locked, full) T', '(full, parallel 2) T', '(full, disable_page_skipping) T', '(full, process_toast off) T',
	'(index_cleanup maybe) T', '(parallel -1) T', '(parallel) T', '(truncate maybe) T', '(analyze off) T (id)', '(skip_locked) T, nowhere')
{
	my %said = map { my $t = $_; my ($rc, $out, $err) = $node->psql('postgres', 'vacuum ' . ($command =~ s/\bT\b/$t/gr)); $t => "$rc $out $err" =~ s/\b$t\b/T/gr =~ s/psql:<stdin>:\d+: //gr =~ s/\^//gr } @both;

	is($said{z}, $said{h}, "VACUUM $command: the same answer");
}
$holder->query_safe('commit');
is(ask("vacuum (analyze) $_ (k); select count(*) > 0, count(*) filter (where attname <> 'k') from pg_stats where tablename = '$_'"), 't|0', "$am{$_}: ANALYZE of a column with it") foreach @both;
foreach my $t (@both)
{
	my ($rc, $out, $err) = $node->psql('postgres', "create temporary table mine (a int primary key, b int unique) using $am{$t}; insert into mine select g, g from generate_series(1, 100) g; delete from mine where a > 50; vacuum (parallel 2) mine; select count(*) from mine");

	is($out, '50', "$am{$t}: a temporary table");
	like($err, qr/WARNING:  disabling parallel option of vacuum on "mine" --- cannot vacuum temporary tables in parallel/, "$am{$t}: is not vacuumed in parallel");
}

# ---- autovacuum makes way ----

make("$fill delete from T where id % 2 = 0;", 'autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.001');
set_and_reload($node, 'autovacuum = on', 'autovacuum_naptime = 1s');
foreach my $t (@both)
{
	my $from = -s $node->logfile;

	ok($node->poll_query_until('postgres', "select count(*) = 1 from pg_stat_progress_vacuum where relid = '$t'::regclass"), "$am{$t}: autovacuum is at work");
	$holder->query_safe("begin; lock table $t in access exclusive mode");
	like(slurp_file($node->logfile, $from), qr/canceling autovacuum task.*?automatic vacuum of table "postgres\.public\.$t"/s, "$am{$t}: it is cancelled by a lock request");
	# not once more
	$holder->query_safe("alter table $t set (autovacuum_enabled = off); commit");
}
set_and_reload($node, 'autovacuum = off');
$node->poll_query_until('postgres', "select count(*) = 0 from pg_stat_activity where backend_type = 'autovacuum worker'") or die;
sound('after autovacuum was cancelled');
is(figure(vacuum($_, 'index_cleanup on, disable_page_skipping'), $dead), $rows / 2, "$am{$_}: and the next one does it all") foreach @both;

# ---- failsafe: rows of zheap have nothing to fail of ----

# xids; autovacuum, which comes for old tables in any case, gets no further than an old snapshot
my $burn = 'set synchronous_commit = off; do $$ begin for i in 1..120000 loop perform pg_current_xact_id(); commit; end loop; end $$';
my $low = 'set vacuum_failsafe_age = 0; ';
make("$fill delete from T where id % 2 = 0;");
$holder->query_safe('begin isolation level repeatable read; select 1');
ask($burn);
like(vacuum('h', 'index_cleanup auto', $low), qr/bypassing nonessential maintenance of table "postgres\.public\.h" as a failsafe/, 'heap: the failsafe leaves indexes alone');
my $told = vacuum('z', 'index_cleanup auto', $low);
unlike($told, qr/public\.z" as a failsafe/, 'zheap: there is none');
is(figure($told, $dead), $rows / 2, 'zheap: all is done');
is(ask("select relfrozenxid from pg_class where relname = 'z'"), '0', 'zheap: nothing is frozen');
$holder->query_safe('commit');
# a rewrite has stamped the table, as any
ask('vacuum full z; delete from z where id % 3 = 0');
my $stamp = ask("select relfrozenxid from pg_class where relname = 'z'");
ask($burn);
unlike(vacuum('z', 'index_cleanup auto', $low), qr/public\.z" as a failsafe|have [1-9]\d* dead item/, 'zheap: nor after a rewrite');
is(ask("select relfrozenxid <> '$stamp' and age(relfrozenxid) < 1000 from pg_class where relname = 'z'"), 't', 'zheap: whose stamp moves on');
is(ask('select count(*) from z'), ask('select count(*) from h where id % 3 <> 0'), 'zheap: the same rows');

$_->quit foreach values %session, values %watcher, $holder;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
