# Faults that need timing, the server's log or damaged bytes to show: SKIP LOCKED beside a row that changes hands;
# what a lock on a row is called; KEY SHARE locks on rows whose move is rolled back;
# undo that was damaged before rows are rolled back to it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $node = new_server('small_faults', ['zheap.max_changed_indexes = 0',
	'autovacuum = off',
	'synchronous_commit = off',
	'zheap.undo_worker_naptime = 10min' ]);

# Backends that give the same command again and again, until many_end.
sub many_begin
{
	my ($clients, $script) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/script.sql';

	append_to_file($file, $script);
	my $run;
	{
		local $ENV{PGAPPNAME} = 'many';
		$run = pgbench_start($node, '-f', $file, '-c', $clients, '-j', 1, '-T', 3600);
	}
	$node->poll_query_until('postgres',
		"select count(*) = $clients from pg_stat_activity where application_name = 'many'");
	$run->{pids} = [ split /\n/, $node->safe_psql('postgres',
			"select pid from pg_stat_activity where application_name = 'many'") ];
	return $run;
}

sub many_end
{
	my ($run) = @_;

	$run->{handle}->kill_kill;
	$node->poll_query_until('postgres',
		"select count(*) = 0 from pg_stat_activity where application_name = 'many'");
	return;
}

# Let the session execute statements, without waiting for their end.
sub give
{
	my ($session, $statements) = @_;

	$session->query_until(qr/given/, "\\echo given\n$statements\n");
	return;
}

# Have all of them begun another command?
sub all_go_on
{
	my ($watch) = @_;
	my $now = $watch->query_safe('select clock_timestamp()');

	return wait_until(sub {
		$watch->query_safe("select count(*) from pg_stat_activity where application_name = 'many' and query_start < '$now'") eq '0' });
}

# SKIP LOCKED does not wait for a third transaction, nor goes round in circles, if the
# row changes hands between its looks.  No schedule leads there for certain: so the
# backends that look are stopped at random places while the row changes hands.
subtest 'SKIP LOCKED beside a row that changes hands' => sub {
	$node->safe_psql('postgres', 'create table skip (id int primary key, n int) using zheap; insert into skip values (1, 0)');
	my $owner = $node->background_psql('postgres');
	my $watch = $node->background_psql('postgres');
	$owner->query_safe('begin');
	$owner->query_safe('update skip set n = n + 1 where id = 1');
	my $run = many_begin(8, <<'SQL');
do $$ begin for i in 1..100 loop perform from skip where id = 1 for update skip locked; end loop; end $$;
SQL
	my $rounds = short() ? 50 : 100;
	my $round;
	for ($round = 1; $round <= $rounds; $round++)
	{
		kill 'STOP', @{ $run->{pids} };
		# may have to wait for a page that one of them has locked
		give($owner, "commit; begin; update skip set n = n + 1 where id = 1;");
		usleep(30_000);
		kill 'CONT', @{ $run->{pids} };
		$owner->query_safe('select 1');
		last unless all_go_on($watch);
		usleep(int(rand(3000)));
	}
	is($round, $rounds + 1, 'all have gone on in every round, before the row was free');
	$owner->query_safe('commit');
	many_end($run);
	$owner->quit;
	$watch->quit;
};

# Who waits for a row, or holds the first place in its queue, names the row as
# everywhere else.  An update makes another version, which has a queue of its own.
subtest 'places in the queue for a row' => sub {
	my $log_start = -s $node->logfile;
	$node->safe_psql('postgres', <<'SQL');
create table queue (id int primary key, n int) using zheap;
insert into queue select g, 0 from generate_series(1, 3) g;
SQL
	my ($holder, $first, $second) = map {
		$node->background_psql('postgres', on_error_stop => 0) } 1 .. 3;
	$_->query_safe("set deadlock_timeout = '1h'; set log_lock_waits = on") foreach $holder, $first, $second;
	$second->query_safe("set deadlock_timeout = '100ms'");
	my $told = sub {
		my @told = substr(slurp_file($node->logfile), $log_start) =~ /still waiting for ExclusiveLock on tuple (\(\d+,\d+\))/g;
		return @told;
	};
	my $waiting = sub {
		my ($count) = @_;
		$node->poll_query_until('postgres',
			"select count(*) = $count from pg_stat_activity where wait_event_type = 'Lock'") or die;
	};
	# three updates a round, so that the next one begins with the other kind of version
	for my $round (1 .. 2)
	{
		$holder->query_safe('begin; update queue set n = n + 1 where id = 2');
		give($first, "update queue set n = n + 1 where id = 2;");
		$waiting->(1);
		give($second, "update queue set n = n + 1 where id = 2;");
		$waiting->(2);
		is($node->safe_psql('postgres', <<'SQL'), "queue|(0,2)|t\nqueue|(0,2)|f", "round $round: pg_locks tells the row");
select relation::regclass, format('(%s,%s)', page, tuple), granted from pg_locks
where locktype = 'tuple' order by granted desc
SQL
		ok(wait_until(sub { $told->() == $round }), "round $round: the log tells of the wait");
		$holder->query_safe('commit');
		$_->query_safe('select 1') foreach $first, $second;
	}
	is($node->safe_psql('postgres', 'select n from queue where id = 2'), 6, 'all have got their turn');
	is("@{[ $told->() ]}", '(0,2) (0,2)', 'the log tells the row');

	# a deadlock that goes through the queue
	for my $round (1, 2)
	{
		$log_start = -s $node->logfile;
		$holder->query_safe('begin; update queue set n = n + 1 where id = 2');
		$second->query_safe('begin; update queue set n = n + 1 where id = 3');
		give($first, "begin; update queue set n = n + 1 where id = 2; rollback;");
		$waiting->(1);
		give($second, "set deadlock_timeout = '1h'; update queue set n = n + 1 where id = 2; rollback;");
		$waiting->(2);
		$holder->query_safe("set deadlock_timeout = '10ms'");
		my ($out, $failed) = $holder->query('update queue set n = n + 1 where id = 3');
		ok($failed, "deadlock $round is found");
		$holder->{stderr} = '';
		$holder->query_safe('rollback');
		$_->query_safe('select 1') foreach $first, $second;
		like(substr(slurp_file($node->logfile), $log_start),
			qr/deadlock detected.*waits for ExclusiveLock on tuple \(0,2\) of relation/s,
			"deadlock $round: the report tells the row");

		# an error on the way gives the place back
		$holder->query_safe('begin; update queue set n = n + 1 where id = 2');
		$first->query_safe("begin; savepoint s; set lock_timeout = '20ms'");
		($out, $failed) = $first->query('update queue set n = n + 1 where id = 2');
		ok($failed, "lock_timeout $round");
		$first->{stderr} = '';
		$first->query_safe('rollback to s');
		is($node->safe_psql('postgres', "select count(*) from pg_locks where locktype = 'tuple'"), 0,
			"lock_timeout $round: nobody is in the queue");
		$_->query_safe('rollback') foreach $first, $holder;
		$node->safe_psql('postgres', 'update queue set n = n + 1 where id = 2');
	}
	$_->quit foreach $holder, $first, $second;
};

# A KEY SHARE lock goes on to where an update moves the row.  If that is rolled back and
# the place gets another row, the lock does not.  The new row has many versions, to be
# looked at with its page locked: so the backends that want the lock stand before it,
# and are stopped there.
subtest 'KEY SHARE beside a move that is rolled back' => sub {
	# one row on a page; it moves when n changes
	$node->safe_psql('postgres', <<'SQL');
create table moved (id int primary key, n int, m int, v text) using zheap;
create index moved_n on moved (n);
alter table moved alter v set storage plain;
insert into moved values (1, 1, 0, repeat('x', 5000));
SQL
	my ($mover, $other, $watch) = map { $node->background_psql('postgres') } 1 .. 3;
	$watch->query_safe('select pg_advisory_lock(1)');
	my $run = many_begin(4, <<'SQL');
select pg_advisory_lock_shared(1);
do $$ begin for i in 1..3 loop perform from moved where id = 1 for key share; commit; end loop; end $$;
select pg_advisory_unlock_shared(1);
SQL
	my $rounds = short() ? 5 : 10;
	my ($stopped, $reused, $waits) = (0, 0, 0);
	# where the other row comes to lie is up to free space and VACUUM: until it was the same place often enough
	for (my $round = 1; $round <= $rounds || ($reused < 3 && $round <= 20 * $rounds); $round++)
	{
		$mover->query_safe('begin; update moved set n = n + 1 where id = 1');
		my $place = $mover->query_safe('select ctid from moved where id = 1');
		$mover->query_safe('do $$ begin for i in 1..3000 loop update moved set m = m + 1 where id = 1; end loop; end $$');
		$watch->query_safe('select pg_advisory_unlock(1)');
		usleep(20_000);
		my @pids = split /\n/, $watch->query_safe(
			"select pid from pg_stat_activity where application_name = 'many' and wait_event ~ '^Buffer(Content|Share|Exclusive)'");
		kill 'STOP', @pids;
		$stopped += @pids;
		give($mover, 'rollback;');
		# another row takes the place, and is locked
		give($other, "vacuum moved; insert into moved values (100, 0, 0, repeat('z', 5000)); begin; select ctid from moved where id = 100 for update;");
		usleep(100_000);
		kill 'CONT', @pids;
		$mover->query_safe('select 1');
		$reused++ if $other->query_safe('select 1') =~ /\Q$place\E/;
		usleep(50_000);
		$waits += $watch->query_safe(
			"select count(*) from pg_stat_activity where application_name = 'many' and wait_event = 'transactionid'");
		$other->query_safe('rollback; delete from moved where id = 100');
		$watch->query_safe('select pg_advisory_lock(1)');
		$other->query_safe('vacuum moved');
	}
	note("stopped where they wait for a page: $stopped");
	cmp_ok($reused, '>=', 3, "places have got another row ($reused)");
	is($waits, 0, 'nobody waits for the one that has locked an unrelated row');
	$watch->query_safe('select pg_advisory_unlock(1)');
	many_end($run);
	$_->quit foreach $mover, $other, $watch;
};

$node->stop;
no_crash_in_log($node, 'at the end');

# A flipped bit in an undo record costs the row, not its page: the record's check tells, and
# nothing of it gets into the page.
subtest 'damaged undo of an aborted update' => sub {
	my $server = new_server('damaged_undo', [
		'autovacuum = off', 'zheap.undo_workers = 0', 'max_prepared_transactions = 1' ], checksums => 0);
	my %damages = (
		longer => sub { $_[0] =~ s/\x05(?=...before5longer)/\x45/s },
		no_slot => sub { $_[0] =~ s/(?<=\x04)\x01(?=.{9,12}\x05...before5no_slot)/\x15/s },
		far_slot => sub { $_[0] =~ s/(?<=\x04)\x01(?=.{9,12}\x05...before5far_slot)/\x41/s });
	# so that what the rows were is not visible to all
	$server->safe_psql('postgres', "begin; create table other (id int); prepare transaction 'open'");
	# eight rows fill a page; an update of one replaces a hundred bytes
	foreach my $table (sort keys %damages)
	{
		$server->safe_psql('postgres', <<SQL);
create table $table (id int, m text, v text) using zheap;
alter table $table alter v set storage plain;
insert into $table select g, rpad('before' || g || '$table', 100, 'm'), repeat('v', 890) from generate_series(1, 8) g;
begin;
update $table set m = rpad('AFTER', 100, 'M') where id = 5;
rollback;
SQL
	}
	my $file = $server->data_dir . '/' . $server->safe_psql('postgres',
		"select pg_relation_filepath('" . undo_relation($server) . "')");
	$server->stop;
	# In the record: the old flags and slot, the place of the record before, the length
	# of what was left alone at the begin (1 byte) and at the end (2), and of what follows (1).
	my $bytes = slurp_file($file);
	ok($damages{$_}->($bytes), "$_: undo is found and damaged") foreach sort keys %damages;
	open my $fh, '+<:raw', $file or die "$file: $!";
	print $fh $bytes;
	close $fh;
	$server->start;
	foreach my $table (sort keys %damages)
	{
		my $others = "select count(*), max(ctid), sum(length(v)) from $table where ctid in ("
		  . join(',', map { "'(0,$_)'" } 1 .. 4, 6 .. 8) . ')';

		is($server->safe_psql('postgres', $others), '7|(0,8)|6230', "$table: the page's other rows are there");
		my ($rc, $out, $err) = $server->psql('postgres', "\\set VERBOSITY verbose\nupdate $table set id = id where ctid = '(0,5)'");
		like($err, qr/ERROR:  XX001: zheap data is damaged in relation "undo", block \d+/, "$table: the damage is told");
		is($server->safe_psql('postgres', $others), '7|(0,8)|6230', "$table: the page's other rows are still there");
	}
	$server->stop('fast', fail_ok => 1);
	no_crash_in_log($server, 'damaged undo');
};

done_testing();
