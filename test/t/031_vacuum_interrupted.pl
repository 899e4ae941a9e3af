# VACUUM is cancelled, or the server killed, in each of its phases: no row and no index entry is wrong, and the next VACUUM does the rest.
# The process is stopped in the phase, so that it does not matter how quick the machine is. The undo relation's own VACUUM likewise.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $rows = short() ? 40_000 : 100_000;
seed();

# one page of the tail after the other is read for truncation, so that it takes a while
my $node = new_server('interrupted', [ 'shared_buffers = 4MB', 'autovacuum = off', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h',
		'maintenance_work_mem = 1MB', 'max_parallel_maintenance_workers = 0' ]);
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, k int, v text) using zheap;
create index t_k on t (k);
create table big_tail (id int primary key, v text) using zheap;
alter table big_tail alter v set storage plain;

-- Stop the process as soon as it is in the phase; tells in which it is then.  It may be stopped with a
-- lock that this session is to wait for (to write WAL: reading the catalog prunes it).  So the process goes
-- on after a while; that is one more attempt.
create function stop_in(process int, wanted text) returns text language plpgsql as $$
declare
	now_in text;
begin
	loop
		perform pg_stat_clear_snapshot();
		select phase into now_in from pg_stat_progress_vacuum where pid = process;
		exit when now_in = wanted or clock_timestamp() > now() + interval '180 s';
		exit when now_in is null and (select state from pg_stat_get_activity(process)) = 'idle';
	end loop;
	if now_in = wanted and wanted <> 'truncating heap' then
		perform pg_sleep(random() * 0.01);
	end if;
	execute format('copy (select where false) to program %L',
		format('kill -STOP %1$s; (sleep 20; kill -CONT %1$s) >/dev/null 2>&1 </dev/null &', process));
	perform pg_sleep(0.01);
	perform pg_stat_clear_snapshot();
	return (select phase from pg_stat_progress_vacuum where pid = process);
end $$;
SQL

# Deleted rows all over the table and to its end, and rolled back ones.
sub fill
{
	$node->safe_psql('postgres', <<"SQL");
truncate t;
insert into t select g, g % 1000, 'v' || g from generate_series(1, $rows) g;
begin; insert into t select g, g % 1000, 'gone' from generate_series(2 * $rows, 2 * $rows + 5000) g; rollback;
delete from t where id > $rows / 10 or id % 3 = 0;
begin; update t set v = 'gone', k = -1 where id % 7 = 0; rollback;
SQL
	wait_undone($node, 'rolled back changes are rolled back');
	return;
}

sub fill_tail
{
	my $n = $rows / 10;

	$node->safe_psql('postgres', <<"SQL");
truncate big_tail;
insert into big_tail select g, repeat('v', 7000) from generate_series(1, $n) g;
delete from big_tail where id > 10;
SQL
	return;
}

sub vacuum_session
{
	my ($table) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('select pg_backend_pid()');

	$session->query_safe("set vacuum_cost_delay = '1ms'; set vacuum_cost_limit = 40") if $table eq 't';
	$session->query_until(qr/started/, "\\echo started\nvacuum (index_cleanup on) $table;\n");
	return ($session, $pid);
}

# By the index, no row of those that were deleted.
sub nothing_deleted
{
	return $node->safe_psql('postgres', <<"SQL");
set enable_seqscan = off; set enable_bitmapscan = off;
select count(v) from t where id between $rows / 10 + 1 and $rows or (id between 2 * $rows and 2 * $rows + 5000);
SQL
}

sub by_k
{
	my ($off) = @_;

	return $node->safe_psql('postgres', "set enable_$off = off; set enable_bitmapscan = off; select count(v), sum(id) from t where k between 0 and 100000");
}

# what an uninterrupted one gives
fill();
$node->safe_psql('postgres', 'vacuum (index_cleanup on) t');
my $size = $node->safe_psql('postgres', "select pg_relation_size('t')");


foreach my $how ('cancel', 'kill')
{
	foreach my $phase ('scanning heap', 'vacuuming indexes', 'vacuuming heap', 'truncating heap')
	{
		my $what = "$how, $phase";
		my $tail = $phase eq 'truncating heap';
		my $table = $tail ? 'big_tail' : 't';

		# a phase may be missed
		my $hits = 0;
		foreach my $attempt (1 .. 30)
		{
			$tail ? fill_tail() : fill();
			$node->safe_psql('postgres', 'checkpoint');
			my $digest = table_digest($node, $table);
			my ($session, $pid) = vacuum_session($table);
			my $in = $node->safe_psql('postgres', "select stop_in($pid, '$phase')");

			if ($how eq 'cancel')
			{
				$node->safe_psql('postgres', "select pg_cancel_backend($pid)");
				kill 'CONT', $pid;
				$session->query('select 1');
				like($session->{stderr}, qr/canceling statement/, "$what: cancelled") if $in eq $phase && !$tail;
				$session->quit;
			}
			else
			{
				crash($node);
				eval { $session->quit };
				start_again($node);
			}
			is(table_digest($node, $table), $digest, "$what: all rows");
			btrees_agree($node, $what, $tail ? 'big_tail_pkey' : ('t_pkey', 't_k'));
			if ($in eq $phase)
			{
				$hits++;
				last;
			}
		}
		ok($hits, "$what: it was in that phase");
		if ($tail)
		{
			# after a crash the workers look first through the undo from before
			wait_undone($node, "$what: undo is looked through");
			$node->safe_psql('postgres', 'vacuum big_tail');
			cmp_ok($node->safe_psql('postgres', "select pg_relation_size('big_tail')"), '<=', 16 * 8192, "$what: the next VACUUM truncates");
			next;
		}

		# what takes the space must not be found under the name of what was there
		$node->safe_psql('postgres', "insert into t select -g, g % 1000, 'new' from generate_series(1, $rows / 4) g");
		is(nothing_deleted(), '0', "$what: no index entry leads to another row");
		is(by_k('seqscan'), by_k('indexscan'), "$what: index and scan agree");
		my $digest = table_digest($node, 't');
		$node->safe_psql('postgres', 'vacuum (index_cleanup on) t');
		is(table_digest($node, 't'), $digest, "$what: all rows after the next VACUUM");
		is(nothing_deleted(), '0', "$what: and no other");
		$node->safe_psql('postgres', "delete from t where id < 0; vacuum (index_cleanup on) t");
		cmp_ok($node->safe_psql('postgres', "select pg_relation_size('t')"), '<=', $size + 8 * 8192, "$what: the next VACUUM gives all space back");
	}
}

# the undo relation's VACUUM, which rolls back, discards and truncates: stopped anywhere by a timeout, then killed
set_and_reload($node, 'zheap.undo_workers = 0');
fill_pending();
sub fill_pending
{
	$node->safe_psql('postgres', "truncate t; insert into t select g, g % 1000, 'v' || g from generate_series(1, $rows) g");
	$node->safe_psql('postgres', "begin; update t set v = 'gone'; delete from t where id % 2 = 0; rollback");
	return;
}
my $digest = table_digest($node, 't');
my $cancelled = 0;
foreach my $round (1 .. 12)
{
	# the first one has no chance
	my $timeout = $round == 1 ? 1 : int(2 + rand(30 * $round));
	my ($rc, $out, $err) = $node->psql('postgres', "set statement_timeout = $timeout; vacuum zheap.undo");

	unlike($err, qr/ERROR:  (?!canceling)/, "round $round: no other error") or diag($err);
	if ($rc != 0)
	{
		$cancelled++;
	}
	else
	{
		fill_pending();
	}
}
cmp_ok($cancelled, '>', 0, "VACUUM of the undo relation was cancelled $cancelled times");
is(table_digest($node, 't'), $digest, 'all rows');
$node->safe_psql('postgres', 'vacuum zheap.undo; select pg_current_xact_id(); vacuum zheap.undo');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', 'all is rolled back in the end');
is(table_digest($node, 't'), $digest, 'all rows once more');
foreach my $round (1 .. (short() ? 2 : 4))
{
	fill_pending();
	$node->safe_psql('postgres', 'checkpoint');
	my ($session) = vacuum_session('zheap.undo');
	usleep(20_000 + rand(200_000));
	crash($node);
	eval { $session->quit };
	start_again($node);
	is(table_digest($node, 't'), $digest, "killed in round $round: all rows");
	$node->safe_psql('postgres', 'vacuum zheap.undo');
	is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', "killed in round $round: the next one rolls back the rest");
	is(table_digest($node, 't'), $digest, "killed in round $round: all rows once more");
}
btrees_agree($node, 'to the end', 't_pkey', 't_k');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
