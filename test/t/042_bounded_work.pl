# Very many changes of one page by one transaction: putting them back costs in proportion to them, can be cancelled, and stops nobody else on the page.
# Beside them, and beside foreign key loads or many newer versions, other rows cost what they cost ever: ratios of processor time, counts of records.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $many = $ENV{ZHEAP_BOUND_CHANGES} // (short() ? 20_000 : 30_000);
my $few = int($many / 10);

# Ten times the changes may cost so many times as much.  In proportion is 10, with room for a machine whose processors are not
# equally quick all the time; what is quadratic costs 100 times as much.
my $in_proportion = 30;
my $less = 5;
my $same = 3;
# All processor time is in 1/100 s; what is below the floor counts as the floor.
my $floor = 10;
# what a statement that waits may cost those it waits for, and one that has been cancelled itself, whatever the number of changes
my $moment = 100;
# where to give up if there is nothing to compare with
my $hopeless = 1000;

my $node = new_server('bounded', [ 'zheap.max_changed_indexes = 0', 'shared_buffers = 64MB', 'max_wal_size = 4GB', 'checkpoint_timeout = 1h', 'autovacuum = off',
	'synchronous_commit = off', 'zheap.undo_workers = 0' ]);
$node->safe_psql('postgres', 'create extension pg_walinspect');

my @sessions;

sub new_session
{
	push @sessions, session($node);
	return $sessions[-1];
}

sub close_sessions
{
	$_->quit foreach @sessions;
	@sessions = ();
	return;
}

# A statement cannot be ended otherwise.  The tables go before anybody looks at them.
sub give_up
{
	my (@tables) = @_;

	$node->stop('immediate');
	foreach my $session (@sessions)
	{
		eval { $session->{run}->finish };
	}
	@sessions = ();
	$node->start;
	$node->safe_psql('postgres', "set client_min_messages = error; drop table if exists $_ cascade") foreach @tables;
	$node->safe_psql('postgres', 'vacuum zheap.undo');
	return;
}

sub larger
{
	my ($a, $b) = @_;

	return $a > $b ? $a : $b;
}

# What ten times as much may cost.
sub allowed
{
	my ($cost, $times) = @_;

	return $times * larger($cost, $floor);
}

# $cost->(size, limit) for few and then for many; undef if it went beyond the limit and was given up.
my %cost_of_many;

sub compare
{
	my ($what, $times, $cost) = @_;
	my $small = $cost->($few, $hopeless);

	if (!defined $small)
	{
		fail("$what: given up at $few after $hopeless/100 s of processor time");
		return;
	}
	my $limit = allowed($small, $times);
	my $large = $cost->($many, $limit);

	diag(sprintf('%s: %d/100 s for %d, %s/100 s for %d', $what, $small, $few, $large // "more than $limit", $many));
	$cost_of_many{$what} = $large;
	ok(defined $large && $large <= $limit, "$what: ten times as many cost at most $times times as much");
	return;
}

# ---- putting back ----

my %changes = (
	'one row' => 'for i in 1 .. N loop update TABLE set n = n + 1 where id = 1; end loop',
	'all rows in turn' => 'for i in 1 .. N / 100 loop update TABLE set n = n + 1; end loop',
	'any row, longer and shorter' => q{for i in 1 .. N loop update TABLE set n = n + 1, v = repeat('w', i * 7 % 5) where id = i * 37 % 100 + 1; end loop});

sub changes
{
	my ($shape, $table, $n) = @_;
	my $body = $changes{$shape};

	$body =~ s/TABLE/$table/g;
	$body =~ s/\bN\b/$n/g;
	return "do \$\$ begin $body; end \$\$";
}

sub make_hot
{
	my ($session, $kind) = @_;

	$session->query_safe("drop table if exists hot; create $kind table hot (id int primary key, n int, v text) using zheap; insert into hot select g, 0, 'vvvv' from generate_series(1, 100) g");
	return;
}

# The rows as they were, but that somebody has added so much to row 2.
sub rows_right
{
	my ($session, $what, $added) = @_;

	begin_in($session, 'select count(*), sum(n), sum(n) filter (where id = 2), count(*) filter (where v = $$vvvv$$) from hot');
	usleep(5_000) until ended($session);
	is($session->{answer}, "100|$added|$added|100", "$what: the rows are right");
	return;
}

# A session has changed the table and takes it back.  Costs are those of a reader, of the next writer and of all that is left to do.
sub cost_of_putting_back
{
	my ($what, $shape, $n, $limit, $savepoint) = @_;
	my $writer = new_session();
	my $other = new_session();
	my $cost = 0;

	make_hot($writer, '');
	$writer->query_safe('begin');
	$writer->query_safe('savepoint s') if $savepoint;
	$writer->query_safe(changes($shape, 'hot', $n));
	foreach my $step ($savepoint ? ([ $writer, 'rollback to s' ], [ $writer, 'commit' ]) : [ $writer, 'rollback' ],
		[ $other, 'select n from hot where id = 3' ], [ $other, 'update hot set n = n + 1 where id = 2' ], [ $other, 'vacuum zheap.undo' ])
	{
		my ($session, $sql) = @$step;
		my $part = cost_of($session, $sql, $limit - $cost);

		if (!defined $part)
		{
			diag("$what: given up in: $sql");
			give_up('hot');
			return;
		}
		$cost += $part;
	}
	rows_right($other, "$what, $n", 1);
	close_sessions();
	return $cost;
}

foreach my $shape (sort keys %changes)
{
	compare("rolled back, $shape", $in_proportion, sub { cost_of_putting_back("rolled back, $shape", $shape, @_) });
}
compare('rolled back to a savepoint', $in_proportion, sub { cost_of_putting_back('rolled back to a savepoint', 'one row', @_, 1) });

# Temporary tables: the session itself has to, in whatever statement.  One that has nothing to do with them is not to suffer.
$node->safe_psql('postgres', 'create table other (n int) using zheap; insert into other values (7)');

sub cost_of_putting_back_temporary
{
	my ($what, $shape, $n, $limit, $savepoint) = @_;
	my $session = new_session();
	my $cost = 0;

	make_hot($session, 'temporary');
	$session->query_safe('begin');
	$session->query_safe('savepoint s') if $savepoint;
	$session->query_safe(changes($shape, 'hot', $n));
	foreach my $sql ($savepoint ? ('rollback to s', 'commit') : 'rollback',
		'select n from other', 'select n from hot where id = 3', 'update hot set n = n + 1 where id = 2', 'select sum(n) from hot')
	{
		my $part = cost_of($session, $sql, $limit - $cost);

		if (!defined $part)
		{
			diag("$what: given up in: $sql");
			give_up();
			return;
		}
		$cost += $part;
	}
	rows_right($session, "$what, $n", 1);
	close_sessions();
	return $cost;
}

foreach my $shape (sort keys %changes)
{
	compare("temporary, $shape", $in_proportion, sub { cost_of_putting_back_temporary("temporary, $shape", $shape, @_) });
}
compare('temporary, rolled back to a savepoint', $in_proportion,
	sub { cost_of_putting_back_temporary('temporary, rolled back to a savepoint', 'one row', @_, 1) });

# ---- putting back, and the others ----

# Many changes, rolled back and not rolled back.
sub roll_back_many
{
	my ($session, $kind) = @_;

	make_hot($session, $kind // '');
	$session->query_safe('begin');
	$session->query_safe(changes('all rows in turn', 'hot', $many));
	$session->query_safe('rollback');
	return;
}

# It ends, and meanwhile neither it nor the others named use more than a moment.
sub ends_soon
{
	my ($what, $session, $sql, @others) = @_;
	my $cost = cost_of($session, $sql, $moment, @others);

	ok(defined $cost, "$what: ends soon") or give_up('hot');
	return defined $cost;
}

# Start to rolled back, until it is under way; or over already.
sub put_back
{
	my ($session) = @_;
	my $began = used($session);

	begin_in($session, 'vacuum zheap.undo');
	usleep(2_000) until ended($session) || used($session) - $began >= 3;
	return;
}

sub beside
{
	my ($what, @others) = @_;
	my $worker = new_session();

	roll_back_many($worker);
	put_back($worker);
	foreach my $other (@others)
	{
		my $session = new_session();

		return if !ends_soon("$what: $other", $session, $other, $worker);
		is($session->{answer}, $other =~ /^select/ ? '0' : '', "$what: $other: the answer");
	}
	usleep(5_000) until ended($worker);
	is($worker->{answer}, '', "$what: rolled back");
	rows_right($worker, $what, 0 + grep { /^update/ } @others);
	close_sessions();
	return;
}

# an update that a signal has cut off may have been done; these say nothing about the rows' contents
sub cut_off
{
	my ($what, $how, $sql) = @_;
	my $worker = new_session();
	my $other = new_session();

	roll_back_many($worker);
	$worker->query_safe("set statement_timeout = '100ms'") if $how eq 'statement_timeout';
	my $began = used($worker);
	begin_in($worker, $sql);
	if ($how ne 'statement_timeout')
	{
		usleep(2_000) until ended($worker) || used($worker) - $began >= 3;
		$other->query_safe("select $how($worker->{pid})");
		$began = used($worker);
	}
	while (!ended($worker))
	{
		if (used($worker) - $began > $moment)
		{
			fail("$what: is cut off");
			give_up('hot');
			return;
		}
		usleep(5_000);
	}
	like($worker->{answer}, qr/\A\z|ERROR: +canceling statement due to|FATAL: +terminating connection/, "$what: is cut off, or was faster");
	return if !ends_soon("$what, then a reader", $other, 'select n from hot where id = 3');
	is($other->{answer}, '0', "$what, then a reader: the answer");
	ok($other->query('set statement_timeout = 0; vacuum zheap.undo') eq '', "$what: rolled back");
	my $added = $other->query_safe('select n from hot where id = 2');
	rows_right($other, $what, $added);
	if ($how eq 'pg_terminate_backend')
	{
		eval { $worker->{run}->finish };
		@sessions = grep { $_ != $worker } @sessions;
	}
	close_sessions();
	return;
}

beside('beside it', 'select n from hot where id = 3', 'update hot set n = n + 1 where id = 2', 'select n from hot where id = 4', 'checkpoint');
cut_off('a writer with a timeout', 'statement_timeout', 'update hot set n = n + 1 where id = 2');
cut_off('a writer that is cancelled', 'pg_cancel_backend', 'update hot set n = n + 1 where id = 2');
cut_off('VACUUM that is cancelled', 'pg_cancel_backend', 'vacuum zheap.undo');
cut_off('VACUUM that is terminated', 'pg_terminate_backend', 'vacuum zheap.undo');

# Statements that are cut off again and again get done what they have to do, and do not begin anew each time.
sub again_and_again
{
	my ($what, $kind, @statements) = @_;
	my $session = new_session();
	my $limit = allowed($cost_of_many{$kind eq '' ? 'rolled back, all rows in turn' : 'temporary, all rows in turn'} // 0, $in_proportion);
	my $cost = 0;
	my $times = 0;

	roll_back_many($session, $kind);
	$session->query_safe("set statement_timeout = '200ms'");
	foreach my $sql (@statements)
	{
		do
		{
			my $part = cost_of($session, $sql, $moment);

			if (!defined $part || ($cost += $part) > $limit)
			{
				fail("$what: $sql is done in the end");
				give_up('hot');
				return;
			}
			$times++;
		} while ($session->{answer} =~ /ERROR: +canceling statement due to/);
		pass("$what: $sql is done in the end");
	}
	diag("$what: $cost/100 s in $times statements");
	$session->query_safe('set statement_timeout = 0');
	rows_right($session, $what, 1);
	close_sessions();
	return;
}

again_and_again('timeouts', '', 'select n from hot where id = 3', 'update hot set n = n + 1 where id = 2');
again_and_again('timeouts, temporary', 'temporary', 'select n from other', 'select n from hot where id = 3', 'update hot set n = n + 1 where id = 2');

# A fast shutdown in the middle of a worker's putting back, and after a start the same.
sub worker_pid
{
	return $node->safe_psql('postgres', "select coalesce(max(pid), 0) from zheap.zheap_stat_workers where role = 'worker' and state = 'rolling back'");
}

sub fast_stop
{
	my ($what) = @_;
	my $worker = 0;
	my $stopped;

	# until it is under way or over
	for (1 .. 1000)
	{
		last if ($worker = worker_pid()) != 0 && used($worker) >= 3;
		last if $node->safe_psql('postgres', 'select zheap.zheap_undo_pending()') == 0;
		usleep(5_000);
	}
	my $began = used($worker);
	system_log('pg_ctl', '-D', $node->data_dir, '-m', 'fast', '-W', 'stop');
	until ($stopped = !-e $node->data_dir . '/postmaster.pid')
	{
		last if used($worker) - $began > $moment;
		usleep(5_000);
	}
	ok($stopped, "$what: the server stops");
	if ($stopped)
	{
		$node->_update_pid(0);
	}
	else
	{
		$node->stop('immediate');
	}
	return $stopped;
}

sub stop_in_the_middle
{
	my $stopped;

	roll_back_many(new_session());
	close_sessions();
	$node->safe_psql('postgres', 'alter system set zheap.undo_workers = 2; select pg_reload_conf()');
	$stopped = fast_stop('fast shutdown beside a worker');
	if ($stopped)
	{
		$node->start;
		$stopped = fast_stop('fast shutdown soon after a start');
	}
	$node->append_conf('postgresql.auto.conf', 'zheap.undo_workers = 0');
	if ($stopped)
	{
		my $reader = $node->start && new_session();

		rows_right($reader, 'after both', 0) if ends_soon('after both, a reader', $reader, 'select n from hot where id = 3');
		close_sessions();
	}
	else
	{
		$node->start;
		$node->safe_psql('postgres', 'drop table hot');
	}
	return;
}

stop_in_the_middle();

# ---- foreign keys ----

sub make_parents
{
	my ($am) = @_;

	$node->safe_psql('postgres', <<"SQL");
set client_min_messages = error;
drop table if exists ch, par;
create table par (id int primary key, n int) using $am;
insert into par select g, 0 from generate_series(1, 200) g;
create table ch (id int, pid int references par) using $am;
SQL
	return;
}

# Children of all parents in turns: their ids.
sub children
{
	my ($from, $to) = @_;

	return "insert into ch select g, 1 + g * 7919::bigint % 200 from generate_series($from, $to) g";
}

# Two loads beside each other, both open all the time.
sub cost_of_loads
{
	my ($am, $n, $limit) = @_;
	my @loads = (new_session(), new_session());
	my $part = int($n / 10);
	my $cost = 0;

	make_parents($am);
	my $from = $node->safe_psql('postgres', 'select pg_current_wal_insert_lsn()');
	$_->query_safe('begin') foreach @loads;
	for my $i (0 .. 9)
	{
		foreach my $load (@loads)
		{
			my $spent = cost_of($load, children($i * $part + 1, ($i + 1) * $part), $limit - $cost);

			if (!defined $spent)
			{
				give_up('ch', 'par');
				return;
			}
			$cost += $spent;
		}
	}
	$_->query_safe('commit') foreach @loads;
	is($node->safe_psql('postgres', 'select count(*), count(distinct id), count(distinct pid) from ch'), join('|', 20 * $part, 10 * $part, $part < 20 ? 10 * $part : 200), "two loads of $n, $am: all rows are there");
	if ($am eq 'zheap')
	{
		$node->safe_psql('postgres', 'select pg_switch_wal()');
		cmp_ok($node->safe_psql('postgres', "select coalesce(sum(count), 0) from pg_get_wal_stats('$from', pg_current_wal_flush_lsn(), true) where \"resource_manager/record_type\" = 'zheap/LOCK'"),
			'<=', 2 * 200, "two loads of $n: a lock record for each parent and transaction, and no more");
	}
	close_sessions();
	return $cost;
}

# a child row costs about as much as two changes
compare('two loads beside each other', $in_proportion, sub { cost_of_loads('zheap', int($_[0] / 2), $_[1]) });
my $heap = cost_of_loads('heap', int($many / 2), 10 * $hopeless);
defined cost_of_loads('zheap', int($many / 2), 4 * larger($heap, $floor)) ? pass("two loads: not many times what heap's cost, $heap/100 s")
  : fail("two loads: many times what heap's cost, $heap/100 s");

# What others do with the parents while a load is open.
foreach my $what (
	[ 'another child', 'insert into ch values (-1, i % 200 + 1)' ],
	[ 'a share lock', 'perform from par where id = i % 200 + 1 for share' ],
	[ 'an update of a parent', 'update par set n = n + 1 where id = i % 200 + 1' ])
{
	my ($name, $body) = @$what;

	compare("$name beside an open load", $same, sub {
		my ($n, $limit) = @_;
		my $load = new_session();

		make_parents('zheap');
		$load->query_safe('begin; ' . children(1, $n));
		my $cost = cost_of(new_session(), "do \$\$ begin for i in 1 .. 500 loop $body; commit; end loop; end \$\$", $limit);
		give_up('ch', 'par') if !defined $cost;
		close_sessions();
		return $cost;
	});
}

# ---- reading and locking other rows ----

# An open transaction has changed each of rows 3 to 90 once, rows 91 to 100 never, and row 2 very many times: more often than
# elsewhere, because little is done beside it.
sub busy_page
{
	my ($size, $first) = @_;
	my $n = $size * ($many < 100_000 ? 3 : 1);
	my $writer = new_session();

	make_hot($writer, '');
	$writer->query_safe('select from hot where id = 97 for key share; begin; select from hot where id = 96 for key share; update hot set n = n + 1 where id between 3 and 90');
	$writer->query_safe($first) if $first;
	$writer->query_safe("do \$\$ begin for i in 1 .. $n loop update hot set n = n + 1 where id = 2; end loop; end \$\$");
	return $writer;
}

sub cost_beside
{
	my ($body, $n, $limit, %more) = @_;
	my $writer = busy_page($n, $more{first});
	my $holder = new_session();
	my $other = new_session();
	my $cost = 0;

	$holder->query_safe("begin; $more{held}") if $more{held};
	$other->query_safe('set enable_seqscan = off; set enable_bitmapscan = off');
	for my $turn (1 .. ($more{turns} // 1))
	{
		my $rounds = $more{turns} ? 1 : 500;
		my $part = cost_of($other, "do \$\$ declare x int; begin for i in 1 .. $rounds loop $body; commit; end loop; end \$\$", $limit - $cost);

		if (!defined $part || $other->{answer} ne '')
		{
			diag($other->{answer}) if defined $part;
			give_up('hot');
			return;
		}
		$cost += $part;
		$writer->query_safe('update hot set n = n + 1 where id = 2') if $more{turns};
	}
	close_sessions();
	return $cost;
}

my $read = q{select n into x from hot where id = ID; if x <> 0 then raise exception '% read', x; end if};
foreach my $what (
	[ 'a row changed once', $same, $read, id => '3 + i % 88' ],
	[ 'a row changed once, as the writer goes on', $same, $read, id => 50, turns => 150 ],
	[ 'a row not changed', $same, $read, id => '91 + i % 10' ],
	[ 'the row itself', $in_proportion, $read, id => 2, turns => 3 ],
	[ 'a row that is share locked beside a key share lock', $same, 'perform from hot where id = 95 for share', held => 'select from hot where id = 95 for key share' ],
	[ 'a row that it has locked before', $same, "begin perform from hot where id = 96 for update nowait; raise exception 'not locked'; exception when lock_not_available then null; end" ],
	[ 'the row itself, key share locked where that conflicts', $same, "begin perform from hot where id = 2 for key share nowait; raise exception 'not locked'; exception when lock_not_available then null; end",
		first => 'select from hot where id = 2 for update' ],
	[ 'a row that somebody has had locked', $same, 'perform from hot where id = 97 for update nowait' ],
	[ 'a row that is updated beside a key share lock', $same, 'update hot set n = n + 1 where id = 95', held => 'select from hot where id = 95 for key share' ])
{
	my ($name, $times, $body, %more) = @$what;

	$body =~ s/ID/$more{id}/ if $more{id};
	compare("beside an open transaction, $name", $times, sub { cost_beside($body, @_, %more) });
}

# ---- locks far down ----

# A transaction has locked rows, then and in between it has changed another row of the page more often than there are records between two directories.
sub locked_rows
{
	my %free = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'select id from hot where id <= 12 for update skip locked');

	return join(' ', grep { !$free{$_} } 1 .. 12);
}

{
	my $holder = session($node);
	my $change = 'do $$ begin for i in 1 .. 500 loop update hot set n = n + 1 where id = 50; end loop; end $$';

	make_hot($holder, '');
	$holder->query_safe("begin; select from hot where id = 1 for key share; $change; select from hot where id = 2 for share; $change");
	is(locked_rows(), '1 2', 'locks below many changes are held');
	$holder->query_safe("savepoint s; select from hot where id = 3 for update; $change; savepoint t; select from hot where id = 4 for share; $change");
	is(locked_rows(), '1 2 3 4', 'so are those of savepoints');
	$holder->query_safe("rollback to t; select from hot where id = 5 for share; $change");
	is(locked_rows(), '1 2 3 5', 'one that was rolled back alone is not');
	$holder->query_safe("release s; $change");
	is(locked_rows(), '1 2 3 5', 'those of a savepoint that was released are');
	$holder->query_safe("savepoint s; select from hot where id = 6 for share; savepoint t; select from hot where id = 7 for share; $change; release t; $change; rollback to s");
	is(locked_rows(), '1 2 3 5', 'those of one that was released and then rolled back are not');
	$holder->query_safe(q{do $$ begin for i in 1 .. 400 loop begin update hot set n = n + 1 where id = 50; if i = 200 then perform from hot where id = 8 for share; end if;
		if i % 3 = 0 then raise exception 'back'; end if; exception when raise_exception then null; end; end loop; end $$});
	is(locked_rows(), '1 2 3 5 8', 'one of hundreds of subtransactions is');
	$holder->quit;
}

# ---- an old snapshot, and very many versions that were committed since ----

sub cost_of_old_version
{
	my ($n, $limit, $writing) = @_;
	my $reader = new_session();
	my $writer = new_session();
	my $cost = 0;

	make_hot($writer, '');
	$reader->query_safe('set enable_seqscan = off; set enable_bitmapscan = off; begin isolation level repeatable read; select count(*) from pg_class');
	$writer->query_safe($writing->($n));
	# each time another version is the newest
	for (1 .. 200)
	{
		my $part = cost_of($reader, 'select n from hot where id = 2', $limit - $cost);

		if (!defined $part)
		{
			give_up('hot');
			return;
		}
		$cost += $part;
		is($reader->{answer}, '0', "the old version under $n newer ones") if $reader->{answer} ne '0';
		$writer->query_safe('update hot set n = n + 1 where id = 2');
	}
	close_sessions();
	return $cost;
}

compare('an old version under those of one transaction', $less, sub { cost_of_old_version(@_,
	sub { "do \$\$ begin for i in 1 .. $_[0] loop update hot set n = n + 1 where id = 2; end loop; end \$\$" }) });
compare('an old version under those of as many transactions', $less, sub { cost_of_old_version(@_,
	sub { "do \$\$ begin for i in 1 .. $_[0] loop update hot set n = n + 1 where id = 2; commit; end loop; end \$\$" }) });

# The same, KEY SHARE locked: what was done to the row since it was moved must have left its key alone.
sub cost_of_key_share
{
	my ($n, $limit) = @_;
	my $locker = new_session();
	my $writer = new_session();
	my $cost = 0;

	make_hot($writer, '');
	$writer->query_safe('create index on hot (v)');
	$locker->query_safe('set enable_seqscan = off; set enable_bitmapscan = off; begin isolation level repeatable read; select count(*) from pg_class');
	$writer->query_safe("update hot set v = 'moved' where id = 2");
	$writer->query_safe("do \$\$ begin for i in 1 .. $n loop update hot set n = n + 1 where id = 2; end loop; end \$\$");
	for (1 .. 50)
	{
		# each time anew
		my $part = cost_of($locker, 'do $$ declare x int; begin for i in 1 .. 10 loop begin select n into x from hot where id = 2 for key share; raise exception $e$%$e$, x; '
			. 'exception when raise_exception then assert x = 0; end; end loop; end $$', $limit - $cost);

		if (!defined $part || $locker->{answer} ne '')
		{
			diag($locker->{answer}) if defined $part;
			give_up('hot');
			return;
		}
		$cost += $part;
		$writer->query_safe('update hot set n = n + 1 where id = 2');
	}
	close_sessions();
	return $cost;
}

compare('a key share lock on a moved row under those of one transaction', $less, \&cost_of_key_share);

# The same after the table has been rewritten, for snapshots from before, of many ages: counts of pages read.
sub rewritten
{
	my @readers;
	my $rounds = int($many / 10);
	my $writer = new_session();

	make_hot($writer, '');
	for my $i (0 .. 10)
	{
		push @readers, new_session();
		$readers[-1]->query_safe('begin isolation level repeatable read; select count(*) from pg_class');
		$writer->query_safe("do \$\$ begin for i in 1 .. $rounds loop update hot set n = n + 1, v = repeat('v', n % 5) where id = 2; commit; end loop; end \$\$") if $i < 10;
	}
	$writer->query_safe('delete from hot where id = 2');
	my $pages = sub {
		my ($reader) = @_;
		my $plan = $reader->query_safe('explain (analyze, buffers, costs off, timing off, summary off) select sum(n) from hot where id = 2');
		return $plan =~ /Buffers: shared hit=(\d+)(?: read=(\d+))?/ ? $1 + ($2 // 0) : -1;
	};
	my $oldest = shift @readers;
	my $before = $pages->($oldest);
	$oldest->query_safe('commit');
	my $age = 1;
	foreach my $rewrite ('vacuum full hot', 'cluster hot using hot_pkey')
	{
		my $reader = shift @readers;

		$writer->query_safe($rewrite);
		my $after = $pages->($reader);
		cmp_ok($after, '<=', 2 * $before, "$rewrite: an old version costs about as many pages as before, $before");
		is($reader->query_safe('select n from hot where id = 2'), $rounds * $age++, "$rewrite: the old version");
		$reader->query_safe('commit');
	}
	foreach my $reader (@readers)
	{
		my $n = $rounds * $age++;

		is($reader->query_safe('select n, length(v) from hot where id = 2'), join('|', $n, ($n - 1) % 5), "rewritten: the version of $n");
	}
	is($writer->query_safe('select count(*) from hot'), 99, 'rewritten: the row is gone');
	close_sessions();
	return;
}

rewritten();

# ---- deferred events ----

# Begins a transaction with these changes; the events' function fails if it is given wrong versions.
sub make_events
{
	my ($session, $rows, $triggers, $changes) = @_;

	$session->query_safe(<<"SQL");
drop table if exists ev;
create table ev (id int, n int) using zheap;
insert into ev select g, 0 from generate_series(1, $rows) g;
create or replace function check_event() returns trigger language plpgsql as 'begin
	if tg_op = \$\$UPDATE\$\$ and new.n is distinct from old.n + 1 or tg_op = \$\$INSERT\$\$ and new.n <> 0 then
		raise exception \$\$event has % and %\$\$, old, new;
	end if;
	return null;
end';
do \$\$ begin $triggers end \$\$;
begin;
do \$\$ begin $changes end \$\$
SQL
	return;
}

# What COMMIT costs after these changes.
sub cost_of_events
{
	my ($rows, $triggers, $changes, $limit) = @_;
	my $session = new_session();

	make_events($session, $rows, $triggers, $changes);
	my $cost = cost_of($session, 'commit', $limit);

	defined $cost ? is($session->{answer}, '', 'events have the right versions') : give_up('ev');
	close_sessions();
	return $cost;
}

my $on_update = 'create constraint trigger tr after update on ev deferrable initially deferred for each row execute function check_event();';
my $many_updates = 100;

# 29 versions of a row share a place
sub change_rows
{
	my ($often, $size) = @_;
	my $rows = $often eq 'once' ? 3 * $size : $many_updates;
	my $rounds = 3 * $size / $rows;

	return ($rows, $on_update, "for i in 1 .. $rounds loop update ev set n = n + 1; end loop;");
}

# How many pages of the table and of undo an event reads.
sub pages_of_events
{
	my ($often) = @_;
	my $session = new_session();
	my $read = q{select sum(pg_stat_get_xact_blocks_fetched(oid)) from pg_class where oid in ('ev'::regclass, 'zheap.undo'::regclass)};

	make_events($session, change_rows($often, $few));
	my $before = $session->query_safe($read);
	$session->query_safe('set constraints all immediate');
	my $pages = ($session->query_safe($read) - $before) / (3 * $few);
	$session->query_safe('commit');
	close_sessions();
	return $pages;
}

foreach my $often ('once', 'very often')
{
	compare("deferred events of rows updated $often", $in_proportion, sub { cost_of_events(change_rows($often, $_[0]), $_[1]) });

	my $pages = pages_of_events($often);
	diag("deferred events of rows updated $often: $pages pages an event");
	cmp_ok($pages, '<=', 12, "an event of rows updated $often reads a few pages");
}

# one row, whose insertion 300 events ask for after so many updates
compare('deferred events of a row inserted long ago', $same, sub {
	return cost_of_events(0, "for i in 1 .. 300 loop execute format('create constraint trigger tr_%s after insert on ev deferrable initially deferred for each row execute function check_event()', i); end loop;",
		"insert into ev values (1, 0); for i in 1 .. $_[0] loop update ev set n = n + 1; end loop;", $_[1]);
});

no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
