# A WAL record names the page that it appends undo to only where replay does not know it: how long records are, and that nothing
# is lost where a checkpoint begins at any moment, even between the look for one and the record.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('reference', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'checkpoint_timeout = 1h', 'max_wal_size = 4GB',
		'log_checkpoints = on', 'max_prepared_transactions = 10', 'synchronous_commit = on', 'wal_keep_size = 1GB' ]);
my $undo = $node->safe_psql('postgres', "select relfilenode from pg_class where relname = 'undo' and relnamespace = 'zheap'::regnamespace");

$node->safe_psql('postgres', <<'SQL');
create extension pg_walinspect;
create table t (id int primary key, v int, pad text) using zheap;
create table h (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)) using zheap;
insert into t select g, 0, repeat('p', 80) from generate_series(1, 2000) g;
create table twin (id int primary key, v int) using heap;
insert into twin select id, v from t;
vacuum;
SQL

# Records since a place, those of one kind: their lengths without images, and how many name a page of undo.
sub records
{
	my ($from, $kind) = @_;

	return split /\|/, $node->safe_psql('postgres', <<"SQL");
select count(*), percentile_disc(0.5) within group (order by record_length - fpi_length), count(*) filter (where block_ref like '%/$undo %')
	from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn()) where resource_manager = 'zheap' and record_type = '$kind'
SQL
}

# Lets the session's undo log come to a new page, where the records that follow have room: the first record on it names it.  So
# does a backend's first one, on whatever is left of the page that it finds.
sub begin_page
{
	my ($session) = @_;
	my $named = 0;

	for (my $round = 0; $round < 2 || !$named; $round++)
	{
		my $from = $node->lsn('insert');
		$session->query_safe(join(';', ('insert into h (tid) values (1)') x 10));
		(undef, undef, $named) = records($from, 'INSERT');
	}
	return;
}

# ---- lengths ----

# What each statement writes when its pages have been changed since the last checkpoint, like most.  Each is about one row.
my %statement = (
	UPDATE => [ sub { "update t set v = v + 1 where id = $_[0]" }, 64 ],
	INSERT => [ sub { 'insert into h (tid, bid, aid, delta, mtime) values (1, 1, 77777, 500, now())' }, 80 ],
	LOCK => [ sub { "do \$\$ begin perform from t where id = $_[0] for update; end \$\$" }, 56 ],
	DELETE => [ sub { "delete from t where id = 1000 + $_[0]" }, 68 ]);
foreach my $kind (qw(UPDATE INSERT LOCK DELETE))
{
	my ($sql, $limit) = @{ $statement{$kind} };
	my @runs = map { my $first = $_ * 200; join(";\n", map { $sql->($first + $_) } 1 .. 200) } 0 .. 2;

	$node->safe_psql('postgres', "$runs[0];\ncheckpoint;\n$runs[1]");
	my $from = $node->lsn('insert');
	$node->safe_psql('postgres', $runs[2]);
	my ($count, $length, $named) = records($from, $kind);
	cmp_ok($count, '>', 100, "$kind: $count records");
	cmp_ok($length, '<=', $limit, "$kind: half of the records have at most $length bytes");
	cmp_ok($named, '<', 10, "$kind: $named of them name a page of undo");
}

# ---- the first after a checkpoint does, with an image ----

my $session = session($node);
begin_page($session);
for my $round (1 .. 3)
{
	$session->query_safe('update t set v = v + 1 where id = 1; update t set v = v + 1 where id = 2');
	$node->safe_psql('postgres', 'checkpoint');
	my $from = $node->lsn('insert');
	$session->query_safe('update t set v = v + 1 where id = 1; update t set v = v + 1 where id = 2');
	is($node->safe_psql('postgres', "select string_agg((block_ref like '%/$undo %')::text || (block_ref like '%/$undo %(FPW%')::text, ' ' order by start_lsn) from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn()) where resource_manager = 'zheap' and record_type = 'UPDATE'"),
		'truetrue falsefalse', "round $round: the first record after a checkpoint names the page and brings it, the second does not");
}
$session->quit;

# ---- crashes among checkpoints ----

sub same_as_twin
{
	my ($what) = @_;

	is($node->safe_psql('postgres', 'select count(*) from t full join twin using (id) where t.v is distinct from twin.v'), 0, $what);
	return;
}

$node->safe_psql('postgres', 'truncate twin; insert into twin select id, v from t');
my $script = load_script('reference');
for my $round (1 .. 4)
{
	my $load = pgbench_start($node, '-c', 4, '-T', 3600, '-f', $script);
	my $done = $node->safe_psql('postgres', 'select sum(v) from twin');
	for (1 .. 5)
	{
		$node->safe_psql('postgres', 'checkpoint');
		$node->poll_query_until('postgres', "select sum(v) > $done + 50 from twin") or die;
		$done = $node->safe_psql('postgres', 'select sum(v) from twin');
	}
	crash($node);
	pgbench_finish($load);
	start_again($node);
	same_as_twin("round $round: after a crash among checkpoints all rows are right");
}

# All records since a place, for the one who looks for what went wrong.
sub show_records
{
	my ($from, $what) = @_;

	diag($what, "\n", $node->safe_psql('postgres', "select start_lsn, xid, resource_manager, record_type, record_length, fpi_length, description, block_ref from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn())"));
	return;
}

sub log_has
{
	my ($from, $what) = @_;

	return slurp_file($node->logfile, $from) =~ $what;
}

# ---- a checkpoint that begins after the look, and before the record ----

SKIP:
{
	skip 'gdb is not there, without which the moment cannot be had', 8 unless gdb();

	foreach my $end ('rollback', 'commit')
	{
		my $writer = session($node);

		# a page with room, on which nothing is pruned: the update's is the only record of its statement
		$node->safe_psql('postgres', "create table race_$end (id int, v int) using zheap; insert into race_$end select g, 0 from generate_series(1, 3) g");
		begin_page($writer);
		my $xid = $writer->query_safe("begin; update race_$end set v = v + 1 where id = 1; select pg_current_xact_id()::xid");
		# between the look, in zundo_register(), and the record, which follows it
		my $debugger = gdb_attach($writer->{pid}, "break zundo_register\ncontinue\ndelete\nbreak XLogInsert\ncontinue") or skip 'no debugger', 4;
		begin_in($writer, "update race_$end set v = v + 1 where id = 2");
		ok(gdb_stopped($debugger, $writer), "$end: the backend is about to insert its record");

		my $log = -s $node->logfile;
		my $checkpoint = session($node);
		begin_in($checkpoint, 'checkpoint');
		wait_until(sub { log_has($log, qr/checkpoint starting/) }) or die;
		ok(!log_has($log, qr/checkpoint complete/), "$end: a checkpoint that has begun since waits");
		gdb_go($debugger);
		wait_until(sub { ended($writer) }) or die;
		wait_until(sub { ended($checkpoint) }) or die;
		gdb_end($debugger);
		$node->safe_psql('postgres', 'insert into h (tid) values (1)');
		if ($end eq 'commit')
		{
			$writer->query_safe("update race_$end set v = v + 1 where id = 3; commit");
		}
		my $redo = $node->safe_psql('postgres', 'select redo_lsn from pg_control_checkpoint()');
		is($node->safe_psql('postgres', <<"SQL"), 'UPDATE false, FPI true' . ($end eq 'commit' ? ', UPDATE true' : ''),
select string_agg(record_type || ' ' || (block_ref like '%/$undo %')::text, ', ' order by start_lsn) from pg_get_wal_records_info('$redo', pg_current_wal_flush_lsn())
	where (resource_manager = 'zheap' and record_type = 'UPDATE' and xid = $xid) or (resource_manager = 'XLOG' and record_type = 'FPI' and block_ref like '%/$undo %')
SQL
			"$end: its record does not name the page, an image of which follows") or show_records($redo, "undo is file $undo, the transaction $xid");
		crash($node);
		start_again($node);
		is($node->safe_psql('postgres', "select string_agg(v::text, ' ' order by id) from race_$end"), $end eq 'commit' ? '1 1 1' : '0 0 0', "$end: all rows are right after a crash");
	}
}

# ---- a checkpoint whose beginning those who insert records know, and those who ask do not ----

# The page is changed, with an image, by a backend whose record comes after the checkpoint's beginning; the next one to change it
# writes no image, so its record must name the page of undo.
SKIP:
{
	skip 'gdb is not there, without which the moment cannot be had', 4 unless gdb();
	my $inserts_lock = 'LWLockReleaseClearVar';
	my $writer = session($node);

	$node->safe_psql('postgres', 'create table moment (id int, v int) using zheap; insert into moment select g, 0 from generate_series(1, 3) g');
	begin_page($writer);
	my $xid = $writer->query_safe('begin; update moment set v = v + 1 where id = 1; select pg_current_xact_id()::xid');
	my $checkpointer = $node->safe_psql('postgres', "select pid from pg_stat_activity where backend_type = 'checkpointer'");
	# the last of eight insertion locks is released: backends that insert records learn of the beginning; since PostgreSQL 17 by a
	# record of its own, before which the locks are taken and released once; 19 takes a single one in between, too
	my $others = pg_major() < 17 ? 7 : pg_major() < 19 ? 15 : 16;
	my $debugger = gdb_attach($checkpointer, "break $inserts_lock\nignore 1 $others\ncontinue\nfinish") or skip 'no debugger', 4;
	my $checkpoint = session($node);
	begin_in($checkpoint, 'checkpoint');
	ok(gdb_stopped($debugger, $checkpoint), 'the checkpointer has let the last lock of those who insert go');

	$node->safe_psql('postgres', 'update moment set v = v + 10 where id = 2');
	$writer->query_safe('update moment set v = v + 100 where id = 3');
	gdb_go($debugger);
	wait_until(sub { ended($checkpoint) }) or die;
	gdb_end($debugger);
	$writer->query_safe('commit');
	my $redo = $node->safe_psql('postgres', 'select redo_lsn from pg_control_checkpoint()');
	is($node->safe_psql('postgres', <<"SQL"), 'true false, false true', 'the next record has no image of the page, and names that of undo') or show_records($redo, "undo is file $undo, the transaction $xid");
select string_agg((block_ref ~ '^blkref #0:[^#]*FPW')::text || ' ' || (xid = $xid and block_ref like '%/$undo %')::text, ', ' order by start_lsn) from pg_get_wal_records_info('$redo', pg_current_wal_flush_lsn())
	where resource_manager = 'zheap' and record_type = 'UPDATE'
SQL
	crash($node);
	ok($node->start(fail_ok => 1), 'the server recovers from there');
	is($node->safe_psql('postgres', "select string_agg(v::text, ' ' order by id) from moment"), '1 10 100', 'all rows are right');
}
no_crash_in_log($node, 'reference');
$node->stop;
done_testing();
