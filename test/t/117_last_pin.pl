# No page of the undo relation is pinned once a transaction is about to commit or to be prepared: the server then writes new files out, or drops them.
# Seen in transactions that wait for a standby at their end, with pg_buffercache; then wal_level = minimal, where commits sync the files that they made.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('last_pin', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'shared_buffers = 32MB', 'wal_level = replica', 'max_wal_senders = 2', "synchronous_standby_names = ''" ]);
my $pinned = <<'SQL';
select coalesce(sum(pinning_backends), 0) from pg_buffercache
where relfilenode = pg_relation_filenode('zheap.undo') and reldatabase = (select oid from pg_database where datname = current_database())
SQL

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# ---- 1. transactions that wait for a standby at their end ----

ask('create extension pg_buffercache; create table t (id int primary key, v text) using zheap; insert into t select g, $$v$$ from generate_series(1, 1000) g');
set_and_reload($node, "synchronous_standby_names = 'none'");
my $session = session($node);
foreach my $end ('commit', "prepare transaction 'p'")
{
	answer_in($session, "begin; update t set v = 'changed'");
	is(ask($pinned), '1', "before: $end");
	begin_in($session, $end);
	ok($node->poll_query_until('postgres', "select wait_event = 'SyncRep' from pg_stat_activity where pid = $session->{pid}"), "waits for a standby: $end");
	is(ask($pinned), '0', "no page is pinned: $end");
	ask("select pg_cancel_backend($session->{pid})");
	ok(wait_until(sub { ended($session) }), "ended: $end");
}
$session->quit;
set_and_reload($node, "synchronous_standby_names = ''");
ask("rollback prepared 'p'");

# ---- 2. wal_level = minimal ----

$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
$node->restart;
ask('drop table t');
my $fill = "insert into t select g, 'ok' from generate_series(1, 2000) g; update t set v = 'changed' where id % 2 = 0;";
my $make = "create table t (id int primary key, v text) using zheap; $fill";
my $right = 'select count(*), count(*) filter (where v = $$changed$$) from t';
foreach my $case (
	[ 'the extension is made by the transaction', "drop extension zheap; begin; create extension zheap; $make commit", '2000|1000' ],
	[ 'prepared', "drop extension zheap cascade; begin; create extension zheap; $make prepare transaction 'p'; commit prepared 'p'", '2000|1000' ],
	[ 'made after one that was dropped', "begin; drop extension zheap cascade; create extension zheap; $make commit", '2000|1000' ],
	[ 'a savepoint', "begin; savepoint a; drop extension zheap cascade; rollback to a; truncate t; $fill commit", '2000|1000' ],
	[ 'truncated', "begin; update t set v = 'x'; truncate t; $fill commit", '2000|1000' ],
	[ 'VACUUM FULL of the undo relation', "vacuum full zheap.undo; begin; update t set v = 'x' where id <= 10; rollback; delete from t where id = 1", '1999|1000' ])
{
	my ($what, $statements, $rows) = @$case;

	ask($statements);
	is(ask($right), $rows, $what);
}
$node->stop('immediate');
$node->start;
is(ask($right), '1999|1000', 'after a crash');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
