# Four hundred sessions at once hold a lock on, or have changed, a row of one page, by statements of their own and by foreign keys: no error, no wait.
# A writer beside hundreds of idle ones uses little more processor time than in heap.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $sessions = short() ? 300 : 400;
# so many have a row of the page for themselves, the others share the rest
my $alone = 280;
my $node = new_server('crowd', [ 'max_connections = 450', 'shared_buffers = 32MB', 'autovacuum = off', 'log_lock_waits = off' ]);

# as many rows as fit the first page
$node->safe_psql('postgres', <<'SQL');
create table zheap (id int primary key, n int) using zheap;
insert into zheap select g, 0 from generate_series(1, 1000) g;
delete from zheap where ctid >= '(1,0)';
create table heap (id int primary key, n int) using heap;
insert into heap select * from zheap;
create table child (id int, parent int references zheap) using zheap;
SQL
my $rows = $node->safe_psql('postgres', 'select count(*) from zheap');
cmp_ok($rows, '>', $alone, 'rows on the page');

# Every one of so many sessions runs "before", then waits until all are there and "during" has been called, then runs "after".
# Returns their errors.  Who fails does not come.
sub crowd
{
	my ($clients, $before, $after, $during) = @_;
	my $script = $node->basedir . '/crowd.sql';
	my $gate = session($node);
	my $shared = $rows - $alone;
	my $there = 0;
	my $failed = 0;

	open my $file, '>', $script or die $!;
	print $file <<"SQL";
\\set alone :client_id < $alone
\\if :alone
\\set id :client_id + 1
\\else
\\set id $alone + 1 + :client_id % $shared
\\endif
begin;
$before
select pg_advisory_xact_lock_shared(1);
$after
SQL
	close $file;
	$gate->query_safe('select pg_advisory_lock(1)');
	my $run = pgbench_start($node, '-c', $clients, '-j', 1, '-t', 1, '-f', $script);
	until ($there + $failed >= $clients || !$run->{handle}->pumpable)
	{
		usleep(50_000);
		$run->{handle}->pump_nb;
		$failed = () = $run->{err} =~ /client \d+ .*aborted/g;
		$there = $gate->query_safe("select count(*) from pg_stat_activity where wait_event = 'advisory'");
	}
	my $cost = $during->($gate) if $during;
	$gate->query_safe('select pg_advisory_unlock(1)');
	$gate->quit;
	my ($rc, undef, $err) = pgbench_finish($run);
	return ($rc, $there, $err, $cost);
}

# ---- nobody fails ----

my $sum = 0;

sub nobody_fails
{
	my ($what, $before, %more) = @_;
	my ($rc, $there, $err) = crowd($sessions, $before, $more{after} // 'commit;', sub {
		my ($gate) = @_;

		is($gate->query_safe('select count(*), sum(n) from zheap'), "$rows|$sum", "$what: a reader sees what was there before");
		begin_in($gate, 'select from zheap where id = 1 for update nowait');
		usleep(5_000) until ended($gate);
		like($gate->{answer}, qr/could not obtain lock on row/, "$what: a row of theirs is locked");
		return;
	});
	my @errors = $err =~ /(ERROR: .*)/g;

	is(scalar(@errors), 0, "$what: no error") or diag(scalar(@errors) . " of $sessions: $errors[0]");
	is($there, $sessions, "$what: all are there at the same time");
	is($rc, 0, "$what: all come to their end");
	$sum += $more{adds} // 0;
	my ($count, $is) = split /\|/, $node->safe_psql('postgres', 'select count(*), sum(n) from zheap');
	is("$count|$is", "$rows|$sum", "$what: the rows are right");
	$sum = $is;
	is($node->safe_psql('postgres', 'set enable_seqscan = off; select count(*), sum(n) from zheap where id > 0'), "$rows|$sum", "$what: also by the index");
	return;
}

my $update = 'update zheap set n = n + 1 where id = :id;';

# the rest share rows without a conflict
sub some_change
{
	my ($change) = @_;

	return "\\if :alone\n$change\n\\else\nselect from zheap where id = :id for key share;\n\\endif";
}

# with those alone, odd rows go back
my $half = '\set odd :id % 2
\if :odd
rollback;
\else
commit;
\endif';

nobody_fails($_, "select from zheap where id = :id $_;") foreach 'for key share', 'for share';
nobody_fails('for key share, all on one row', 'select from zheap where id = 1 for key share;');
nobody_fails('for update, then updated', some_change('select from zheap where id = :id for update;'), after => some_change($update) . "\n$half", adds => $alone / 2);
nobody_fails('updated', some_change($update), after => $half, adds => $alone / 2);
nobody_fails('updated in savepoints', some_change("savepoint s; $update rollback to s; savepoint s; $update"), after => $half, adds => $alone / 2);
nobody_fails('deleted', some_change('delete from zheap where id = :id;'), after => 'rollback;');
nobody_fails('foreign keys', 'insert into child values (:client_id, :id);', after => $half);
is($node->safe_psql('postgres', 'select count(*) from child'), scalar(grep { ($_ < $alone ? $_ + 1 : $alone + 1 + $_ % ($rows - $alone)) % 2 == 0 } 0 .. $sessions - 1),
	'foreign keys: the children are there');

# ---- beside idle ones ----

# the least of three measurements, in turns
my $idle = 240;
my %cost;
foreach my $am (('heap', 'zheap') x 3)
{
	my ($rc, undef, $err, $cost) = crowd($idle, "update $am set n = n + 1 where id = :id;", 'commit;', sub {
		my ($gate) = @_;

		my $used = cost_of($gate, "do \$\$ begin for i in 1 .. 5000 loop update $am set n = n + 1 where id = 251 + i % 20; commit; end loop; end \$\$", 100_000);
		is($gate->{answer}, '', "$am, $idle idle sessions: updates");
		return $used;
	});

	is($rc, 0, "$am, $idle idle sessions: no error") or diag($err);
	$cost{$am} = $cost if !defined $cost{$am} || $cost < $cost{$am};
}
diag("5000 updates beside $idle idle sessions: heap $cost{heap}/100 s, zheap $cost{zheap}/100 s");
cmp_ok($cost{zheap}, '<=', 3 * $cost{heap}, "updates beside $idle idle sessions use about the processor time that they use in heap");

no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
