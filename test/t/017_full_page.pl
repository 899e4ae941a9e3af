# Two hundred sessions at once hold row locks, and then versions, on one full page: nobody fails, nobody waits without need.
# All four modes, on rows of their own and on the same row; then each session updates its row, and half of them roll back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $sessions = 200;
my $node = new_server('full', [ 'max_connections = 250', 'shared_buffers = 32MB', 'autovacuum = off' ]);

# ids count the rows of page 0 from 1; the page has no room for another
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, pad text) using zheap;
do $$
begin
	for i in 1 .. 1000 loop
		insert into t values (i, 0, repeat('p', 16));
		exit when exists (select from t where ctid >= '(1,0)');
	end loop;
end $$;
delete from t where ctid >= '(1,0)';
SQL
cmp_ok($node->safe_psql('postgres', q{select count(*) from t where ctid < '(1,0)'}), '>', $sessions,
	'more rows on the page than sessions');

# Every session runs "before", then all are there at once, then "after".  Returns pgbench's exit code and errors.
sub crowd
{
	my ($before, $after) = @_;
	my $script = $node->basedir . '/crowd.sql';
	my $gate = $node->background_psql('postgres');

	open my $file, '>', $script or die $!;
	print $file "\\set id :client_id + 1\nbegin;\n$before\nselect pg_advisory_xact_lock_shared(1);\n$after\n";
	close $file;
	$gate->query_safe('select pg_advisory_lock(1)');
	my $run = pgbench_start($node, '-c', $sessions, '-j', 4, '-t', 1, '-f', $script);
	my $there = $node->poll_query_until('postgres',
		"select count(*) = $sessions from pg_stat_activity where wait_event = 'advisory'");
	ok($there, 'all sessions hold their locks at the same time');
	$gate->query_safe('select pg_advisory_unlock(1)');
	$gate->quit;
	return pgbench_finish($run);
}

my $rows = $node->safe_psql('postgres', 'select count(*) from t');
my $expected = 0;
my $finish = 'update t set n = n + 1 where id = :id;
\if :id % 2 = 0
commit;
\else
rollback;
\endif';

foreach my $mode ('for update', 'for no key update', 'for share', 'for key share')
{
	my ($rc, undef, $err) = crowd("select n from t where id = :id $mode;", $finish);
	is($rc, 0, "$mode, each on a row of its own") or diag($err);
	$expected += $sessions / 2;
	is($node->safe_psql('postgres', 'select count(*), sum(n) from t'), "$rows|$expected", 'updates of half of them stay');
}

# one row for all
foreach my $mode ('for share', 'for key share')
{
	my ($rc, undef, $err) = crowd("select n from t where id = 1 $mode;", "commit;");
	is($rc, 0, "$mode, all on one row") or diag($err);
}
# beside 200 key share locks the row may change, if its key does not
my ($rc, undef, $err) = crowd('select n from t where id = 1 for key share;', 'update t set n = n + 1 where id = 1; commit;');
is($rc, 0, 'key share, then all update the row') or diag($err);
$expected += $sessions;
is($node->safe_psql('postgres', 'select count(*), sum(n) from t'), "$rows|$expected", 'all updates are there');

# versions instead of locks, in a savepoint each: two transaction ids a session
($rc, undef, $err) = crowd("update t set n = n + 1 where id = :id; savepoint s; update t set n = n + 100 where id = :id; rollback to s; savepoint u; update t set n = n + 1 where id = :id;", 'commit;');
is($rc, 0, 'versions in savepoints') or diag($err);
$expected += 2 * $sessions;
is($node->safe_psql('postgres', 'select count(*), sum(n) from t'), "$rows|$expected", 'what was kept is there');
($rc, undef, $err) = crowd('delete from t where id = :id; insert into t values (:id, 0, null);', 'rollback;');
is($rc, 0, 'deleted and inserted anew, rolled back') or diag($err);
is($node->safe_psql('postgres', 'select count(*), sum(n) from t'), "$rows|$expected", 'nothing of it is left');

is($node->safe_psql('postgres', 'set enable_seqscan = off; select count(*), sum(n) from t where id > 0'), "$rows|$expected", 'also by the index');
no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
