# A session that waits in the queue for a row is cut off, in every way there is: it leaves the queue at once, whichever of the two queues of the row's versions
# it is, and the next one gets its place.  On a server with assertions nothing warns of a lock that was left.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('queue', [ 'autovacuum = off', 'log_lock_waits = off' ]);
$node->safe_psql('postgres', <<'SQL');
create table que (id int primary key, v int) using zheap;
insert into que select g, 0 from generate_series(1, 3) g;
-- how many tuple locks are left when the error is caught
create function caught(sql text) returns text language plpgsql as $$
begin
	execute sql;
	return 'nothing to catch';
exception when query_canceled or lock_not_available or deadlock_detected then
	return (select sqlstate || ', left ' || count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'tuple');
end $$;
SQL

my $holder = session($node);
my $waiter = session($node);
my $next = session($node);
my $watch = session($node);

# the holder is the one that waits without looking for deadlocks
$holder->query_safe("set deadlock_timeout = '1h'");

sub tuple_locks
{
	my ($session, $granted) = @_;

	return $watch->query_safe("select count(*) from pg_locks where pid = $session->{pid} and locktype = 'tuple' and granted = $granted");
}

sub waits
{
	my ($session) = @_;

	return $watch->query_safe("select count(*) from pg_locks where pid = $session->{pid} and not granted");
}

sub wait_for
{
	my ($what, $condition) = @_;
	my $came = wait_until($condition);

	fail("$what: waited in vain") unless $came;
	return $came;
}

sub answer_of
{
	my ($session, $what) = @_;

	wait_for($what, sub { ended($session) });
	return $session->{answer};
}

sub run_in
{
	my ($session, $sql) = @_;

	begin_in($session, $sql);
	return answer_of($session, $sql);
}

my %statements = (
	update => 'update que set v = v + 10 where id = 1',
	delete => 'delete from que where id = 1',
	lock => 'select v from que where id = 1 for update',
	share => 'select v from que where id = 1 for share');

# around the statement: what goes before, and how it is put
my %places = (
	alone => [ '', '%s' ],
	transaction => [ 'begin', '%s' ],
	savepoint => [ 'begin; savepoint s', '%s' ],
	function => [ 'begin', q{select caught('%s')} ]);

my %errors = (
	statement_timeout => qr/canceling statement due to statement timeout|57014/,
	lock_timeout => qr/canceling statement due to lock timeout|55P03/,
	pg_cancel_backend => qr/canceling statement due to user request|57014/,
	deadlock => qr/deadlock detected|40P01/,
	pg_terminate_backend => qr/terminating connection/);

# The waiter is in the queue, and then is cut off.  Returns its answer.
sub cut_off
{
	my ($what, $how, $sql) = @_;

	$waiter->query_safe("set $how = '200ms'") if $how =~ /_timeout$/;
	if ($how eq 'deadlock')
	{
		$waiter->query_safe("set deadlock_timeout = '200ms'; update que set v = v where id = 2");
		begin_in($holder, 'update que set v = v where id = 2');
		wait_for("$what: the holder waits", sub { waits($holder) });
	}
	begin_in($waiter, $sql);
	if ($how =~ /^pg_/)
	{
		wait_for("$what: in the queue", sub { tuple_locks($waiter, 'true') });
		begin_in($next, 'update que set v = v + 100 where id = 1');
		wait_for("$what: the next one in the queue", sub { tuple_locks($next, 'false') });
		$watch->query_safe("select $how($waiter->{pid})");
	}
	return answer_of($waiter, $what);
}

sub check
{
	my ($turn, $how, $place, $statement) = @_;
	my $what = "$how, $place, $statement, version $turn";
	my ($before, $put) = @{ $places{$place} };

	$holder->query_safe("begin; update que set v = v + 1 where id = 1");
	$waiter->query_safe($before) if $before ne '';
	my $answer = cut_off($what, $how, sprintf($put, $statements{$statement}));
	like($answer, $errors{$how}, "$what: is cut off");
	like($answer, qr/left 0$/, "$what: nothing is left when it is caught") if $place eq 'function' && $how !~ /terminate/;
	unlike($answer, qr/WARNING/, "$what: nothing is warned of");
	begin_in($next, 'update que set v = v + 100 where id = 1') if $how !~ /^pg_/;
	# the waiter's transaction may still be there
	wait_for("$what: the next one is first", sub { tuple_locks($next, 'true') });
	is(tuple_locks($waiter, 'true'), 0, "$what: has left the queue");
	if ($how eq 'pg_terminate_backend')
	{
		eval { $waiter->{run}->finish };
		$waiter = session($node);
	}
	else
	{
		unlike(run_in($waiter, $before eq '' ? 'select 1' : 'rollback'), qr/WARNING/, "$what: nothing is warned of in the end");
		$waiter->query_safe('reset all; set client_min_messages = warning');
	}
	wait_for("$what: the holder goes on", sub { ended($holder) });
	$holder->query_safe('commit');
	is(answer_of($next, $what), '', "$what: the next one gets through");
	is(run_in($waiter, 'update que set v = v where id = 1'), '', "$what: and whoever comes then");
	return;
}

for my $turn (0 .. 1)
{
	foreach my $how (sort keys %errors)
	{
		foreach my $place (sort keys %places)
		{
			next if $how eq 'deadlock' && $place eq 'alone';
			foreach my $statement ($place eq 'alone' ? sort keys %statements : 'update')
			{
				# the row's versions as the number says: even or odd
				$node->safe_psql('postgres', 'truncate que; insert into que select g, 0 from generate_series(1, 3) g' . '; update que set v = v where id = 1' x $turn);
				check($turn, $how, $place, $statement);
			}
		}
	}
}
is($node->safe_psql('postgres', "select count(*) from pg_locks where locktype = 'tuple'"), 0, 'no tuple lock is left');
my $log = slurp_file($node->logfile);
unlike($log, qr/tuple lock held|you don't own a lock/, 'nothing about lost locks in the log');
no_crash_in_log($node, 'in the end');
$_->quit foreach ($holder, $waiter, $next, $watch);
$node->stop;
done_testing();
