# What the TAP tests share: servers with the library, pgbench on zheap tables, crashes, checks of contents.
#
# Environment:
#   ZHEAP_TEST_SHORT    shorter runs
#   ZHEAP_TEST_SEED     seed of the random choices; a test prints the one it used
#   ZHEAP_BOUND_CHANGES changes of one page by one transaction in 042; its long form has 1000000

package ZheapTest;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use IPC::Run;
use Test::More;
use Time::HiRes qw(time usleep);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(short pg_major seed wait_until new_server new_standby caught_up wait_for_feedback
  set_and_reload tables_use pgbench_init pgbench_run pgbench_start pgbench_finish pgbench_stop load_script crash start_again sums_agree sums
  reads_agree btrees_agree wait_undone undo_size table_digest
  no_crash_in_log undo_relation read_bytes write_bytes log_ends has_unit used session begin_in ended answer_in cost_of
  counts_told make_tries python keys_table gdb gdb_attach gdb_stopped gdb_go gdb_end);

# A session may live for as long as its test takes: the time that it has is each statement's.
{
	no warnings 'redefine';
	my $background_psql = \&PostgreSQL::Test::Cluster::background_psql;

	*PostgreSQL::Test::Cluster::background_psql = sub {
		my $session = $background_psql->(@_);

		$session->set_query_timer_restart();
		return $session;
	};

	# since PostgreSQL 17 it prints each query and its result, several lines each
	*PostgreSQL::Test::BackgroundPsql::note = sub { };
}

sub short
{
	return $ENV{ZHEAP_TEST_SHORT} ? 1 : 0;
}

# The major version of PostgreSQL that is tested.
sub pg_major
{
	my ($version) = run_command([ 'pg_config', '--version' ]);

	return $version =~ /^PostgreSQL (\d+)/ ? $1 : die "what is this: $version";
}

# Start the random numbers; the seed is printed, so that a run can be repeated.
sub seed
{
	my $seed = $ENV{ZHEAP_TEST_SEED} // int(time() * 1000) % 1000000007;

	srand($seed);
	diag("ZHEAP_TEST_SEED=$seed");
	return $seed;
}

# A started server with the extension.  Settings as "name = value" strings; options are those of init(), and checksums => 0: bytes
# of pages are to be changed.
sub new_server
{
	my ($name, $conf, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $checksums = delete $init{checksums} // 1;

	# they are the default since PostgreSQL 18
	push @{ $init{extra} }, '--no-data-checksums' if !$checksums && pg_major() >= 18;
	$node->init(%init);
	$node->append_conf('postgresql.conf', join("\n",
		'log_statement = none',
		'log_replication_commands = off',
		'max_connections = 60',
		'deadlock_timeout = 1s',
		'autovacuum_naptime = 5s',
		@{ $conf // [] }) . "\n");
	$node->start;
	$node->safe_psql('postgres', 'create extension zheap');
	return $node;
}

# Wait for a condition; false if it does not come true in a time that no machine should need.
sub wait_until
{
	my ($condition) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;

	until ($condition->())
	{
		return 0 if time() > $end;
		usleep(10_000);
	}
	return 1;
}

# A started standby, made from a backup that is taken now.
sub new_standby
{
	my ($primary, $name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$primary->backup("for_$name");
	$node->init_from_backup($primary, "for_$name", has_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n", 'wal_receiver_status_interval = 1s', @conf) . "\n");
	$node->start;
	return $node;
}

# Until standbys have replayed all that there is now.  This uses no transaction id, so what no commit has flushed may take the
# primary some seconds.
sub caught_up
{
	my ($primary, @standbys) = @_;
	my $lsn = $primary->lsn('insert');

	foreach my $node (@standbys)
	{
		$node->poll_query_until('postgres', "select pg_last_wal_replay_lsn() >= '$lsn'::pg_lsn")
		  or die 'standby ' . $node->name . ' does not catch up';
	}
	return;
}

# Until the primary knows of the oldest snapshot on its standby, in the standby's slot if it has one.
sub wait_for_feedback
{
	my ($primary, $standby, $what) = @_;
	my $xmin = $standby->safe_psql('postgres',
		"select backend_xmin from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and backend_xmin is not null order by age(backend_xmin) desc limit 1");

	ok($primary->poll_query_until('postgres',
			"select count(*) > 0 from (select backend_xmin as x from pg_stat_replication union all select xmin from pg_replication_slots) f where x = '$xmin'"),
		$what // 'the primary knows of the reader');
	return;
}

# Change settings, given as "name = value", and wait until background processes go by them; workers do when they have time.
sub set_and_reload
{
	my ($node, @settings) = @_;
	my $loaded = $node->safe_psql('postgres', 'select pg_conf_load_time()');

	$node->append_conf('postgresql.conf', join('', map { "$_\n" } @settings));
	$node->reload;
	# a new backend begins with what the postmaster has read
	$node->poll_query_until('postgres', "select pg_conf_load_time() > '$loaded'") or die;
	# The others read the file when they come round to it, and then sleep.  One may just have waited for a lock: so twice.
	foreach my $pid ((split /\n/, $node->safe_psql('postgres',
				"select pid from pg_stat_activity where backend_type in ('zheap undo launcher', 'autovacuum launcher', 'startup', 'walreceiver')")) x 2)
	{
		my $slept = times_slept($pid);

		kill 'HUP', $pid;
		wait_until(sub { my $now = times_slept($pid); $now eq '' || $now ne $slept }) or die;
	}
	if (grep { /^zheap\.undo_workers = 0$/ } @settings)
	{
		$node->poll_query_until('postgres', "select count(*) = 0 from pg_stat_activity where backend_type = 'zheap undo worker'") or die;
	}
	return;
}

# How often a process has waited for something; '' when it has gone.
sub times_slept
{
	my ($pid) = @_;

	open my $fh, '<', "/proc/$pid/status" or return '';
	local $/;
	return (<$fh> // '') =~ /^voluntary_ctxt_switches:\s*(\d+)/m ? $1 : '';
}

# The access methods of the named tables are all zheap.
sub tables_use
{
	my ($node, @tables) = @_;
	my $list = join(', ', map { "'$_'::regclass" } @tables);

	is($node->safe_psql('postgres',
			"select string_agg(distinct amname, ',') from pg_class c join pg_am a on a.oid = relam where c.oid in ($list)"),
		'zheap', 'tables are zheap tables');
}

sub pgbench_init
{
	my ($node, $scale, @options) = @_;
	local $ENV{PGOPTIONS} = '-c default_table_access_method=zheap';

	$node->command_ok([ 'pgbench', '-i', '-q', '-s', $scale, @options, 'postgres' ],
		"pgbench -i at scale $scale");
	tables_use($node, map { "pgbench_$_" } qw(accounts branches tellers history));
	return;
}

# A script for pgbench that several tests use.
sub load_script
{
	my ($name) = @_;

	return dirname(__FILE__) . "/load/$name.sql";
}

# A table with indexes on n, which rounds(first, last) changes in all rows, each time in a transaction, and on t.
sub keys_table
{
	my ($node, $name, $rows) = @_;

	$node->safe_psql('postgres', <<"SQL");
create extension amcheck;
create table $name (id int primary key, n int, t int) using zheap;
create index ${name}_n on $name (n);
create index ${name}_t on $name (t);
insert into $name select g, g, g from generate_series(1, $rows) g;
create procedure rounds(first int, last int) language plpgsql as \$\$
begin
	for i in first..last loop
		update $name set n = (id * 7919 + i * 104729) % 1000003;
		commit;
	end loop;
end \$\$;
SQL
	return;
}

# Run pgbench to its end.  Returns what it printed and its exit code.
sub pgbench_run
{
	my ($node, @options) = @_;
	my $run = pgbench_start($node, @options);

	return pgbench_finish($run);
}

# ---- a process is stopped where gdb's commands say ----

# The program, or '': it is not there.
sub gdb
{
	my $gdb = `sh -c 'command -v gdb'`;

	chomp $gdb;
	return $gdb;
}

# Attaches gdb to the process; undef: it cannot.  "to_stop" brings it to where it is to stop.
sub gdb_attach
{
	my ($pid, $to_stop) = @_;
	my $at = PostgreSQL::Test::Utils::tempdir();
	my $debugger = { at => $at, err => '', out => '' };

	append_to_file("$at/commands", "set breakpoint pending on\nhandle SIGINT SIGUSR1 nostop noprint pass\nshell touch $at/attached\n$to_stop\nshell touch $at/stopped\nshell while [ ! -e $at/go ]; do sleep 0.05; done\ndelete\ndetach\nquit\n");
	$debugger->{run} = IPC::Run::start([ gdb(), '-q', '-nx', '-batch', '-p', $pid, '-x', "$at/commands" ], '<', \undef, '>', \$debugger->{out}, '2>', \$debugger->{err});
	return $debugger if wait_until(sub { $debugger->{run}->pump_nb; -e "$at/attached" || !$debugger->{run}->pumpable }) && -e "$at/attached";
	diag("gdb cannot stop a process here: $debugger->{err}");
	return undef;
}

# Is the process stopped, before what it does in the session has ended?
sub gdb_stopped
{
	my ($debugger, $session) = @_;

	return wait_until(sub { $debugger->{run}->pump_nb if $debugger->{run}->pumpable; ended($session) || -e "$debugger->{at}/stopped" }) && -e "$debugger->{at}/stopped";
}

sub gdb_go
{
	my ($debugger) = @_;

	append_to_file("$debugger->{at}/go", '');
	return;
}

sub gdb_end
{
	my ($debugger) = @_;

	$debugger->{run}->finish;
	return;
}

# Start pgbench and go on.
sub pgbench_start
{
	my ($node, @options) = @_;
	my %run = (out => '', err => '', command => "@options");
	local %ENV = $node->_get_env();

	# another database may be named behind the options
	$ENV{PGDATABASE} = 'postgres';
	$run{handle} = IPC::Run::start([ 'pgbench', '-n', @options ],
		'<', \undef, '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

# Wait for it.  Returns (exit code, standard output, standard error).
sub pgbench_finish
{
	my ($run) = @_;

	IPC::Run::finish($run->{handle});
	return ($run->{handle}->result(0), $run->{out}, $run->{err});
}

# End a run that has more seconds (-T) than it needs, and wait for it: its clients come to the end of their transactions.
sub pgbench_stop
{
	my ($run) = @_;

	$run->{handle}->signal('ALRM');
	return pgbench_finish($run);
}

# Kill the postmaster and every child of it the hard way, in random order.
sub crash
{
	my ($node) = @_;
	my $postmaster = $node->{_pid};

	# stopped, it cannot have more children while we look for them
	kill 'STOP', $postmaster;
	my @victims = sort { rand() <=> 0.5 } ($postmaster, child_processes($postmaster));
	kill 'KILL', $_ foreach @victims;
	$node->kill9;
	foreach my $pid (@victims)
	{
		for (1 .. 600)
		{
			last if process_state($pid) eq 'Z';
			usleep(50_000);
		}
	}
	# All are dead.  Where nobody collects dead orphans they look alive to the
	# next postmaster, which then trusts its predecessor's lock files.
	for (1 .. 20)
	{
		last unless kill 0, $postmaster;
		usleep(50_000);
	}
	if (kill 0, $postmaster)
	{
		unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	}
	return;
}

sub child_processes
{
	my ($parent) = @_;
	my @children;

	foreach my $stat (glob '/proc/[0-9]*/stat')
	{
		open my $fh, '<', $stat or next;
		my $line = <$fh>;
		close $fh;
		next unless defined $line && $line =~ /^(\d+) \(.*\) (\S) (\d+)/s;
		push @children, $1 if $3 == $parent;
	}
	return @children;
}

sub process_state
{
	my ($pid) = @_;

	open my $fh, '<', "/proc/$pid/stat" or return 'Z';
	my $line = <$fh>;
	close $fh;
	return 'Z' unless defined $line && $line =~ /^\d+ \(.*\) (\S)/s;
	return $1;
}

# Start after a crash.
sub start_again
{
	my ($node) = @_;

	$node->start;
	return;
}

# The four sums of a TPC-B database, as text.
sub sums
{
	my ($node) = @_;

	return $node->safe_psql('postgres', <<'SQL');
begin isolation level repeatable read;
select (select sum(abalance) from pgbench_accounts),
	(select sum(tbalance) from pgbench_tellers),
	(select sum(bbalance) from pgbench_branches),
	(select coalesce(sum(delta), 0) from pgbench_history);
commit;
SQL
}

sub sums_agree
{
	my ($node, $what) = @_;
	my @sums = split /\|/, sums($node);

	ok( @sums == 4
		  && $sums[0] eq $sums[1]
		  && $sums[1] eq $sums[2]
		  && $sums[2] eq $sums[3],
		"$what: sums of accounts, tellers, branches and history agree (@sums)");
	return;
}

# Every row is found by a scan, by the index alone and by a bitmap, and they are
# the same rows.
sub reads_agree
{
	my ($node, $what) = @_;
	my %tables = (
		pgbench_accounts => [ 'aid', 'abalance' ],
		pgbench_tellers => [ 'tid', 'tbalance' ],
		pgbench_branches => [ 'bid', 'bbalance' ]);

	foreach my $table (sort keys %tables)
	{
		my ($key, $value) = @{ $tables{$table} };
		my $query =
		  "select count($value), sum($key), sum($value), sum(hashint4($key # $value)::bigint) from $table where $key between -1 and 1000000000";
		my ($seq, $index, $bitmap) = map {
			my %on = ($_ => 'on');
			$node->safe_psql('postgres',
				"begin; "
				  . join(' ', map { "set local enable_$_ = " . ($on{$_} // 'off') . ';' }
					  qw(seqscan indexscan bitmapscan indexonlyscan))
				  . " $query; commit;")
		} qw(seqscan indexscan bitmapscan);
		is($index, $seq, "$what: index and scan of $table agree");
		is($bitmap, $seq, "$what: bitmap and scan of $table agree");
	}
	return;
}

# amcheck of the named btree indexes, with every row of the table looked up.
sub btrees_agree
{
	my ($node, $what, @indexes) = @_;

	if ($node->safe_psql('postgres', "select count(*) from pg_available_extensions where name = 'amcheck'") eq '0')
	{
	  SKIP: { skip "$what: the server has no amcheck", scalar @indexes; }
		return;
	}
	$node->safe_psql('postgres', 'create extension if not exists amcheck');
	foreach my $index (@indexes)
	{
		my ($rc, $out, $err) = $node->psql('postgres',
			"select bt_index_parent_check('$index', true, true)");
		is($rc, 0, "$what: amcheck of $index");
		diag($err) if $rc;
	}
	return;
}

# Until what was rolled back has been rolled back into the pages.
sub wait_undone
{
	my ($node, $what) = @_;
	my $start = time();

	ok($node->poll_query_until('postgres',
			'select zheap.zheap_undo_pending() = 0'), $what);
	return time() - $start;
}

sub undo_relation
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		"select c.oid::regclass from pg_class c join pg_am a on a.oid = relam where amname = 'zheap_undo'");
}

sub read_bytes
{
	my ($file, $at, $length) = @_;

	open my $fh, '<:raw', $file or die "$file: $!";
	seek $fh, $at, 0;
	read($fh, my $bytes, $length);
	close $fh;
	return $bytes;
}

# Into a file that the server does not have open.  Returns what was there.
sub write_bytes
{
	my ($file, $at, $bytes) = @_;
	my $before = read_bytes($file, $at, length $bytes);

	open my $fh, '+<:raw', $file or die "$file: $!";
	seek $fh, $at, 0;
	print $fh $bytes;
	close $fh or die "$file: $!";
	return $before;
}

# First blocks of an undo log's oldest and newest extent, as the directory in this file tells.
sub log_ends
{
	my ($file, $log) = @_;

	return unpack('VV', read_bytes($file, 8192 + 24 + 8 * $log, 8));
}

# Are the functions of test/unit there?  Where only zheap is installed they are not.
sub has_unit
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "select count(*) from pg_available_extensions where name = 'zheap_unit'");
}

sub undo_size
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		"select pg_relation_size(c.oid) from pg_class c join pg_am a on a.oid = relam where amname = 'zheap_undo'");
}

# Processor time that backends have used, in 1/100 s: a stalled disk or a busy machine does not count.
sub used
{
	my $sum = 0;

	foreach my $pid (map { ref $_ ? $_->{pid} : $_ } @_)
	{
		open my $fh, '<', "/proc/$pid/stat" or next;
		my $line = <$fh> // '';
		close $fh;
		$sum += $1 + $2 if $line =~ /.*\) \S(?: -?\d+){10} (\d+) (\d+)/s;
	}
	return $sum;
}

# Since PostgreSQL 18 zheap_stat_tables has the counts of other sessions once they have reported them: some time after a transaction,
# or when they exit.  Wait until the given sessions have reported those of their ended transactions, and all others have exited.
sub counts_told
{
	my ($node, @sessions) = @_;

	return if $node->pg_version < 18;
	my $pids = join(',', map { $_->query_safe('select pg_backend_pid() from pg_stat_force_next_flush()') } @sessions);
	$node->poll_query_until('postgres', "select not exists (select from pg_stat_activity where backend_type = 'client backend'
		and pid <> all (array[$pids]::int[] || pg_backend_pid()))") or die 'sessions do not end';
	return;
}

# A session that goes on after errors.  Its statements can be left running, and watched.
sub session
{
	my ($node, $database) = @_;
	my $session = $node->background_psql($database // 'postgres', on_error_stop => 0);

	$session->{pid} = $session->query_safe('set client_min_messages = warning; select pg_backend_pid()');
	return $session;
}

# Start a statement and go on.
sub begin_in
{
	my ($session, $sql) = @_;

	$session->{running} = 1;
	$session->{timeout}->start;
	$session->{stdin} .= "$sql;\n\\echo it ended\n\\warn it ended\n";
	$session->{run}->pump_nb;
	return;
}

# Has it ended, well or with an error, or with the session?  What it printed is then in "answer", errors included.
sub ended
{
	my ($session) = @_;

	return 1 if !$session->{running};
	$session->{run}->pump_nb if $session->{run}->pumpable;
	return 0 if $session->{run}->pumpable && !($session->{stdout} =~ /^it ended\n/m && $session->{stderr} =~ /^it ended\n/m);
	$session->{answer} = $session->{stderr} . $session->{stdout};
	$session->{answer} =~ s/^it ended\n//mg;
	chomp $session->{answer};
	@$session{qw(running stdout stderr)} = (0, '', '');
	return 1;
}

# Run statements to their end.  Returns what the session has answered, errors too.
sub answer_in
{
	my ($session, $sql) = @_;

	begin_in($session, $sql);
	wait_until(sub { ended($session) }) or die "does not end: $sql";
	return $session->{answer};
}

# Run a statement to its end.  Returns the processor time that the session used for it, with that of the others named; undef as
# soon as this is more than the limit: the statement is still running then.
sub cost_of
{
	my ($session, $sql, $limit, @others) = @_;
	my $began = used($session, @others);

	begin_in($session, $sql);
	until (ended($session))
	{
		return if used($session, @others) - $began > $limit;
		usleep(2_000);
	}
	return used($session, @others) - $began;
}

# A hash over all rows of a table, whatever their order.
sub table_digest
{
	my ($node, $table, $database) = @_;

	return $node->safe_psql($database // 'postgres',
		"select count(*), coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') from $table t");
}

# Nothing in the server's log says that a process died by itself.
sub no_crash_in_log
{
	my ($node, $what) = @_;
	my $log = slurp_file($node->logfile);
	my @bad = grep { /PANIC|TRAP:|terminated by signal (?!9:)/ } split /\n/, $log;

	is(scalar(@bad), 0, "$what: no process died by itself");
	diag(join("\n", @bad[ 0 .. ($#bad > 9 ? 9 : $#bad) ])) if @bad;
	return;
}

# The function tries(condition, tables): while the condition holds it locks the tables again and again, and counts how often
# that was done at once, and how often it had to wait, however long it did.
sub make_tries
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
create function tries(condition text, tables text, out had int, out refused int) language plpgsql as $$
declare
	holds boolean;
begin
	had := 0;
	refused := 0;
	loop
		execute 'select ' || condition into holds;
		exit when not holds;
		begin
			execute 'lock table ' || tables || ' nowait';
			raise exception sqlstate 'ZZ001';
		exception
			when sqlstate 'ZZ001' then
				had := had + 1;
			when lock_not_available then
				refused := refused + 1;
				begin
					execute 'lock table ' || tables;
					raise exception sqlstate 'ZZ001';
				exception when sqlstate 'ZZ001' then
					null;
				end;
		end;
		perform pg_sleep(0.001);
	end loop;
end $$;
SQL
	return;
}

# What the command test/NAME runs, without its building.  Returns whether all was well, and what it printed.
sub python
{
	my ($name, @options) = @_;
	my $python = -x '/usr/bin/python3' ? '/usr/bin/python3' : 'python3';
	my $out;
	my $ok = IPC::Run::run([ $python, dirname(__FILE__) . "/../lib/$name/$name.py", @options ], '>', \$out, '2>&1');

	return ($ok ? 1 : 0, $out);
}

1;
