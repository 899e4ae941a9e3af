# LOCK TABLE ... NOWAIT and DDL with a short lock_timeout succeed beside the worker that marks pages all-visible, which only keeps the file where it is.
# The worker sleeps after each page (cost delay), so that it is on a table for long; what has locked the table sees in pg_locks that it still is.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('marking', [ 'autovacuum = off', 'zheap.undo_worker_naptime = 100ms', 'autovacuum_vacuum_cost_delay = 100ms', 'autovacuum_vacuum_cost_limit = 1' ]);

$node->safe_psql('postgres', 'create extension pg_visibility');

# Lock the table and tell whether a worker is at work on its file; undef: it was refused.
sub lock_beside
{
	my ($session, $table) = @_;
	my $answer = answer_in($session, "begin; lock table $table in access exclusive mode nowait");

	$answer = answer_in($session, "select count(*) from pg_locks where locktype = 'object' and classid = 'pg_class'::regclass and objid = pg_relation_filenode('$table') and granted")
	  if $answer eq '';
	answer_in($session, 'rollback');
	return $answer =~ /could not obtain lock/ ? undef : $answer;
}

my $session = session($node);
my ($beside, $refused) = (0, 0);
$node->safe_psql('postgres', "create table t (id int primary key, v text) using zheap; insert into t select g, repeat('v', 100) from generate_series(1, 30000) g");
# the moment in which the table is opened is short, but may come; a worker that kept the lock would refuse nearly all
ok(wait_until(sub {
			my $answer = lock_beside($session, 't');

			$refused++ if !defined $answer;
			$beside++ if $answer;
			$beside >= 5 || $refused >= 20;
		}) && $beside >= 5, 'the table is locked beside the worker')
  or diag("$beside times, refused $refused times");
ok(wait_until(sub { lock_beside($session, 't') }), 'it is still at work');
my $filenode = $node->safe_psql('postgres', "select pg_relation_filenode('t')");
like(answer_in($session, "set lock_timeout = '1s'; alter table t add column w int default 1"), qr/^$/, 'DDL with a lock_timeout');
like(answer_in($session, 'begin; truncate t; insert into t values (1); rollback'), qr/^$/, 'TRUNCATE, which waits for a page');
is($node->safe_psql('postgres', 'select count(*), sum(id), sum(w) from t'), '30000|450015000|30000', 'all rows are there');
like(answer_in($session, 'cluster t using t_pkey'), qr/^$/, 'CLUSTER');
isnt($node->safe_psql('postgres', "select pg_relation_filenode('t')"), $filenode, 'makes another file');
is($node->safe_psql('postgres', 'select count(*), sum(id), sum(w) from t'), '30000|450015000|30000', 'with all rows');
is($node->safe_psql('postgres', "select count(*) from pg_visibility('t') where all_visible <> pd_all_visible"), '0', 'map and pages agree');
# what a table without a map gets
$node->safe_psql('postgres', "create table u (id int, v text) using zheap; insert into u select g, repeat('v', 100) from generate_series(1, 10000) g");
set_and_reload($node, 'autovacuum_vacuum_cost_delay = 0');
ok($node->poll_query_until('postgres', "select count(*) <= 2 from pg_visibility_map('u') where not all_visible"), 'all full pages are marked');
is($node->safe_psql('postgres', "select count(*) from pg_visibility('u') where all_visible <> pd_all_visible"), '0', 'map and pages agree there, too');
is(answer_in($session, "drop table t, u"), '', 'DROP TABLE');
$session->quit;
unlike(slurp_file($node->logfile), qr/could not mark pages/, 'the worker has had no error');
no_crash_in_log($node, 'to the end');
$node->stop;
done_testing();
