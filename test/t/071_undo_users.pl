# Commands that move the undo relation wait for all transactions that use it, and those that begin meanwhile wait for them; nobody
# else locks it.  Whoever gives up, is killed or rolled back lets the others go on, and tables stay what they are.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('users', [ 'max_worker_processes = 8', 'zheap.undo_workers = 0', 'autovacuum = off', 'max_prepared_transactions = 5' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/ts" or die $!;
$node->safe_psql('postgres', "create tablespace ts location '$dir/ts'");
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int) using zheap;
insert into t select g, 0 from generate_series(1, 1000) g;
create table plain (a int) using heap;
SQL
my @places = ('ts', 'pg_default');
my $watch = session($node);

# Begin to move it to the other tablespace.
sub move
{
	push @places, shift @places;
	return "alter table zheap.undo set tablespace $places[1]";
}

sub come
{
	my ($what, $condition) = @_;

	ok(wait_until($condition), $what);
	return;
}

sub waits_for
{
	my ($waiter, $holder, $what) = @_;

	come($what, sub { $watch->query_safe("select $holder->{pid} = any (pg_blocking_pids($waiter->{pid}))") eq 't' });
	return;
}

# Let a statement that was begun end; its answer is the one expected.
sub answers
{
	my ($session, $expected, $what) = @_;

	come("$what: it ends", sub { ended($session) });
	like($session->{answer}, $expected, $what);
	return;
}

sub locks
{
	return $watch->query_safe("select count(*) from pg_locks where relation = 'zheap.undo'::regclass");
}

# Whoever comes first finds that there is no mover; from then on no lock is taken.
sub unlocked
{
	my ($what) = @_;
	my $user = session($node);

	$node->safe_psql('postgres', 'update t set n = n where id = 1000');
	$user->query_safe('begin; update t set n = n where id = 1000');
	is(locks(), '0', "$what: nobody locks the undo relation");
	$user->query_safe('rollback');
	$user->quit;
	return;
}

sub place
{
	return $node->safe_psql('postgres', "select coalesce(spcname, 'pg_default') from pg_class c left join pg_tablespace s on s.oid = reltablespace where c.oid = 'zheap.undo'::regclass");
}

my ($user, $mover, $late) = map { session($node) } 1 .. 3;

unlocked('at the start');

# a writer, and a reader of old versions
my $parallel = pg_major() < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
foreach my $case ([ 'a writer', 'begin; update t set n = n + 1 where id <= 500', 'select sum(n) from t where id <= 700', 500 ],
	[ 'a reader', 'begin isolation level repeatable read; select sum(n) from t', 'select sum(n) from t where id <= 700', 500 ])
{
	my ($who, $begin, $query, $sum) = @$case;

	$user->query_safe($begin);
	$node->safe_psql('postgres', 'update t set n = n + 1000 where id = 700') if $who eq 'a reader';
	begin_in($mover, move());
	waits_for($mover, $user, "the mover waits for $who");
	begin_in($late, 'update t set n = n + 1 where id = 900 returning n');
	waits_for($late, $mover, 'who comes later waits for the mover');
	is($watch->query_safe("select count(*) from pg_locks where relation = 'zheap.undo'::regclass and not granted and pid = $late->{pid}"),
		'1', 'and that is for its lock');
	is($user->query_safe($query), $sum, "$who reads on");
	# a parallel worker does not wait for the mover
	is($user->query_safe("set $parallel = on; set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0; $query"),
		$sum, "$who and its workers read on");
	$user->query_safe('savepoint s; update t set n = n - 1 where id <= 3; rollback to s') if $who eq 'a writer';
	$user->query_safe('commit; reset all');
	answers($mover, qr/^$/, "the mover goes on after $who");
	answers($late, qr/^\d+$/, 'and the others');
	is(place(), $places[1], 'it is moved');
	is($node->safe_psql('postgres', 'select sum(n) from t where id not in (700, 900)'), 500, 'the rows are right');
	unlocked("after $who");
}
$node->safe_psql('postgres', 'update t set n = 0 where id > 500');

# a mover that gives up
foreach my $how ('pg_cancel_backend', 'lock_timeout', 'pg_terminate_backend')
{
	my $here = place();
	my $gone = session($node);

	$user->query_safe('begin; update t set n = n + 1 where id = 1');
	begin_in($gone, ($how eq 'lock_timeout' ? "set lock_timeout = '500ms'; " : '') . move());
	if ($how ne 'lock_timeout')
	{
		waits_for($gone, $user, "$how: the mover waits");
		begin_in($late, 'update t set n = n where id = 900');
		waits_for($late, $gone, "$how: another one waits for it");
		$watch->query_safe("select $how($gone->{pid})");
		answers($late, qr/^$/, "$how: the other one goes on");
	}
	answers($gone, qr/cancel|timeout|terminat/, "$how: the mover has failed");
	is($user->query_safe('select n from t where id = 1'), 2, "$how: the writer reads");
	$user->query_safe('rollback');
	push @places, shift @places;
	is(place(), $here, "$how: it stays where it was");
	unlocked($how);
}

# a deadlock is detected
$user->query_safe('begin; update t set n = n + 1 where id = 1');
$mover->query_safe('begin; lock table plain');
begin_in($mover, move());
waits_for($mover, $user, 'the mover waits');
begin_in($user, 'lock table plain');
come('one of them gives up', sub { my $a = ended($mover); my $b = ended($user); $a && $b || $a && $mover->{answer} =~ /deadlock/ || $b && $user->{answer} =~ /deadlock/ });
# the one that has given up first, so that the other one goes on
foreach my $session (sort { ended($b) <=> ended($a) } ($user, $mover))
{
	come('it ends', sub { ended($session) });
	$session->query_safe('rollback');
}
is(scalar(grep { $_->{answer} =~ /deadlock detected/ } ($user, $mover)), 1, 'by a deadlock');
push @places, shift @places if place() ne $places[1];
unlocked('after a deadlock');

# prepared: before the mover comes, and while it waits
foreach my $when ('before', 'while')
{
	$user->query_safe('begin; update t set n = n + 1 where id = 1');
	$user->query_safe("prepare transaction 'p'") if $when eq 'before';
	begin_in($mover, move());
	come("$when: the mover waits", sub { $watch->query_safe("select count(*) from pg_locks where pid = $mover->{pid} and not granted") eq '1' });
	$user->query_safe("prepare transaction 'p'") if $when eq 'while';
	ok(!ended($mover), "$when: prepared, it waits on");
	$user->query_safe("commit prepared 'p'");
	answers($mover, qr/^$/, "$when: the mover goes on");
	unlocked("prepared $when");
}
is($node->safe_psql('postgres', 'select n from t where id = 1'), 3, 'what was prepared is there');
# after a crash a prepared transaction is no backend's
$user->query_safe("begin; update t set n = n + 1 where id = 1; prepare transaction 'p'");
$_->quit foreach ($user, $mover, $late, $watch);
$node->stop('immediate');
start_again($node);
($user, $mover, $late, $watch) = map { session($node) } 1 .. 4;
begin_in($mover, move());
come('recovered: the mover waits', sub { $watch->query_safe("select count(*) from pg_locks where pid = $mover->{pid} and not granted") eq '1' });
$user->query_safe("rollback prepared 'p'");
answers($mover, qr/^$/, 'recovered: the mover goes on');
is($node->safe_psql('postgres', 'select n from t where id = 1'), 3, 'it was rolled back');

# a move that is rolled back
my $here = place();
$mover->query_safe('begin; ' . move() . '; select sum(n) from t');
begin_in($late, 'update t set n = n + 1 where id = 2 returning n');
waits_for($late, $mover, 'others wait for the end of the move');
$mover->query_safe('rollback');
push @places, shift @places;
answers($late, qr/^2$/, 'it goes on in the old file');
is(place(), $here, 'which is where it was');
is($mover->query_safe('begin; update t set n = 100 where id = 2; savepoint s; alter table zheap.undo set tablespace ' . $places[0]
	  . '; rollback to s; update t set n = n + 100 where id = 2; rollback; select n from t where id = 2'), 2, 'written, moved, moved back, written');

# a writer of many records, who keeps a page of it pinned, moves it: nothing waits for the pin for ever
my $many = 'update t set n = n + 100 where id <= 50';
my $sum = $mover->query_safe('select sum(n) from t where id <= 50');
is($mover->query_safe("begin; $many; savepoint s; $many; alter table zheap.undo set tablespace $places[0]; rollback to s; $many; "
	  . 'rollback; select sum(n) from t where id <= 50'), $sum, 'much written, moved, moved back, written');
is($mover->query_safe("begin; $many; savepoint s; $many; rollback to s; $many; " . move() . '; commit; select sum(n) from t where id <= 50'),
	$sum + 10000, 'much written, part of it rolled back, moved');
is(place(), $places[1], 'to where it should be');
is($mover->query_safe("begin; $many; " . move() . '; rollback; select sum(n) from t where id <= 50'), $sum + 10000, 'the same, rolled back');
push @places, shift @places;
$node->safe_psql('postgres', 'update t set n = n - 200 where id <= 50');
unlocked('after a move that was rolled back');

# a user that is killed
my $victim = session($node);
$victim->query_safe('begin; update t set n = -1 where id = 3');
begin_in($mover, move());
waits_for($mover, $victim, 'the mover waits for the victim');
$watch->query_safe("select pg_terminate_backend($victim->{pid})");
answers($mover, qr/^$/, 'and goes on when that is dead');
is($node->safe_psql('postgres', 'select n from t where id = 3'), 1, 'whose change is gone');
unlocked('after a death');

# its counters go on
my $hits = sub { $node->safe_psql('postgres', "select heap_blks_hit + heap_blks_read from pg_statio_all_tables where relid = 'zheap.undo'::regclass") };
my $before = $hits->();
for my $n (1 .. 5)
{
	$user->query_safe('update t set n = n + 1 where id > 100');
	$user->query_safe('create temp table if not exists tt (a int); drop table tt; select pg_stat_force_next_flush()');
}
come('its blocks are counted', sub { $user->query_safe('select pg_stat_force_next_flush()'); $hits->() - $before >= 10 });

# the extension anew in one transaction, and in another session
$node->safe_psql('postgres', 'create database other');
my ($first, $second) = (session($node, 'other'), session($node, 'other'));
$first->query_safe('create extension zheap; create table o (a int) using zheap; insert into o values (1)');
$second->query_safe('insert into o values (2)');
$first->query_safe('begin; drop extension zheap cascade; create extension zheap; create table o (a int) using zheap; insert into o values (3)');
$first->query_safe('rollback');
is($second->query_safe('update o set a = a + 10; select sum(a) from o'), 23, 'dropped and made again, rolled back');
# what aborted transactions have left in it is rolled back afterwards, however far the new one's horizon would be
foreach my $how ('drop extension zheap cascade; create extension zheap; create table u (a int) using zheap; insert into u values (3); update u set a = 4',
	'savepoint s; drop extension zheap cascade; create extension zheap; create table u (a int) using zheap; select from u; rollback to s',
	'drop extension zheap cascade; create extension zheap; drop extension zheap cascade; create extension zheap; create table u (a int) using zheap; insert into u select g from generate_series(1, 20000) g; delete from u')
{
	my $third = session($node, 'other');

	$second->query_safe('begin; insert into o values (1000); update o set a = 500 where a = 11; delete from o where a = 12; rollback');
	$third->query_safe("begin; $how");
	is($third->query_safe('select sum(a) from o'), 23, 'with undo pending, a part of the transaction rolled back') if $how =~ /rollback to/;
	$third->query_safe('rollback');
	$third->quit;
	is($first->query_safe('select sum(a) from o'), 23, 'dropped and made again, rolled back, with undo pending');
	is($node->safe_psql('other', 'vacuum zheap.undo; vacuum o; select sum(a) from o'), 23, 'and rolled back for good');
}
$first->query_safe('begin; drop extension zheap cascade; create extension zheap; create table o (a int) using zheap; insert into o values (3); commit');
is($second->query_safe('update o set a = a + 10; select sum(a) from o'), 13, 'dropped and made again');
$first->query_safe('drop extension zheap cascade');
is($second->query_safe('create extension zheap; create table o (a int) using zheap; begin; insert into o values (4); update o set a = 5; commit; select a from o'), 5,
	'by another session');
is($first->query_safe('update o set a = 6; select a from o'), 6, 'and used by the first');
$first->query_safe('drop extension zheap cascade');
is($first->query_safe('begin; savepoint s; create extension zheap; create table o (a int) using zheap; insert into o select g from generate_series(1, 100) g; '
	  . "update o set a = a + 1; rollback to s; commit; select count(*) from pg_extension where extname = 'zheap'"), 0,
	'made and much used by a part of a transaction that was rolled back');
$_->quit foreach ($first, $second);

# a load
my ($clients, $transactions, $moves) = short() ? (3, 200, 4) : (4, 1000, 12);
$node->safe_psql('postgres', 'create table counter (id int primary key, n int) using zheap; insert into counter select g, 0 from generate_series(1, 50) g; '
	  . 'create table done (n int) using heap');
PostgreSQL::Test::Utils::append_to_file("$dir/load.sql", <<'SQL');
\set id random(1, 50)
\set what random(1, 4)
begin;
update counter set n = n + 1 where id = :id;
\if :what = 1
rollback;
\else
savepoint s;
update counter set n = n + 1000 where id = :id;
rollback to s;
insert into done values (1);
commit;
\endif
SQL
my $load = pgbench_start($node, '-c', $clients, '-t', $transactions, '-f', "$dir/load.sql");
for my $n (1 .. $moves)
{
	$mover->query_safe(move());
	$mover->query_safe('vacuum (full) zheap.undo');
}
my ($rc, $out, $err) = pgbench_finish($load);
is($rc, 0, 'the load ends well') or diag($err);
my $sums = sub { $node->safe_psql('postgres', 'select (select sum(n) from counter) = count(*) from done') };
is($sums->(), 't', 'the sums are right');
my $digest = table_digest($node, 'counter');
$_->quit foreach ($user, $mover, $late, $watch);
$node->stop('immediate');
start_again($node);
is(table_digest($node, 'counter'), $digest, 'also after a crash');
is($sums->(), 't', 'with right sums');
$node->safe_psql('postgres', 'vacuum zheap.undo');
btrees_agree($node, 'to the end', 'counter_pkey', 't_pkey');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
