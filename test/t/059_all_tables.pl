# VACUUM of the undo relation, where that cannot be read, looks through all tables: it is in nobody's way, waits for short locks, and comes to an end
# beside a table without its file.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

my $BLCKSZ = 8192;
my $node = new_server('alltables', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_hold_warning = -1', 'max_prepared_transactions = 5' ], checksums => 0);
my $undo = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('zheap.undo')");

# Rows of "big" are changed, the server is stopped, and the undo page in the middle of them is damaged.
my $tag = 'old';

sub damage
{
	my $old = $tag;

	$tag = $tag eq 'old' ? 'new' : 'old';
	$node->safe_psql('postgres', "update big set f = repeat('$tag', 60)");
	$node->stop;
	my $content = slurp_file($undo);
	my @blocks = grep { substr($content, $_ * $BLCKSZ, $BLCKSZ) =~ /(?:$old){20}/ } 32 .. length($content) / $BLCKSZ - 1;

	write_bytes($undo, $blocks[ @blocks / 2 ] * $BLCKSZ, "\xff" x 20);
	return;
}

sub pending
{
	return $node->safe_psql('postgres', "select zheap.zheap_undo_pending() || ' ' || count(*) from zheap.zheap_undo_holders where kind = 'rollback'");
}

$node->safe_psql('postgres', <<'SQL');
create table big (id int, f text) using zheap;
alter table big alter f set storage plain;
insert into big select g, repeat('old', 60) from generate_series(1, 100000) g;
create table other (id int) using zheap;
insert into other values (1);
SQL

# ---- locks while it is at work ----

make_tries($node);
my ($had, $refused) = (0, 0);
for (1 .. 20)
{
	damage();
	$node->start;
	isnt(pending(), '0 0', 'after a restart nobody knows what was committed');
	my $vacuum = session($node);
	my $locker = session($node);
	my $at_work = "exists (select from pg_locks where pid = $vacuum->{pid} and relation = 'zheap.undo'::regclass)";
	my $over = "exists (select from pg_stat_get_activity($vacuum->{pid}) where state = 'idle' and query like 'vacuum%')";
	begin_in($locker, "do \$\$ begin while not $at_work and not $over loop perform pg_sleep(0.001); end loop; end \$\$; select * from tries(\$\$$at_work\$\$, 'big, other')");
	begin_in($vacuum, 'vacuum zheap.undo');
	foreach my $session ($vacuum, $locker)
	{
		usleep(5_000) until ended($session);
	}
	my ($more_had, $more_refused) = split /\|/, $locker->{answer};
	like($vacuum->{answer}, qr/WARNING: .*could not roll back/, 'VACUUM tells what was wrong');
	is(pending(), '0 0', 'and found that nothing is left');
	$_->quit foreach $vacuum, $locker;
	$had += $more_had;
	$refused += $more_refused;
	last if $had >= 20;
}
note("$had locks had, $refused refused");
cmp_ok($had, '>=', 20, 'tables can be locked while it is at work');
cmp_ok($refused, '<=', $had / 3, 'and at once');

# ---- a lock that lasts for a while ----

damage();
$node->start;
my $locker = session($node);
$locker->query_safe('begin; lock table other');
begin_in($locker, 'select pg_sleep(1); commit');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is(pending(), '0 0', 'a lock is waited for');
usleep(5_000) until ended($locker);
$locker->quit;

# ---- one that stays, and a table that has lost its file ----

my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('big')");
damage();
rename $file, "$file.away" or die $!;
$node->start;
$locker = session($node);
$locker->query_safe('begin; lock table other');
my ($rc, $out, $err) = $node->psql('postgres', "set statement_timeout = '300s'; vacuum zheap.undo");
is($rc, 0, 'VACUUM comes to an end');
like($err, qr/WARNING: .*could not roll back rows of the table with OID \d+: could not open file/, 'and names the table');
isnt(pending(), '0 0', 'something may be left');
rename "$file.away", $file or die $!;
$node->psql('postgres', 'vacuum zheap.undo');
isnt(pending(), '0 0', 'also in the table that is locked');
$locker->query_safe('commit');
$node->psql('postgres', 'vacuum zheap.undo');
is(pending(), '0 0', 'until both can be read');
is($node->safe_psql('postgres', "select count(*) from big where f = repeat('$tag', 60)"), '100000', 'all is right');
$locker->quit;

# ---- what it finds in the undo is known while it looks through the tables, and stays so if it is cancelled ----

$node->safe_psql('postgres', 'create table third (id int) using zheap; create table on_heap (id int) using heap');
damage();
$node->start;
my $aborter = session($node);
$aborter->query_safe('begin; insert into third values (1); rollback') for 1 .. 4;
$aborter->quit;
my $left = 'select pending_transactions from zheap.zheap_stat_undo';
cmp_ok($node->safe_psql('postgres', $left), '>=', 5, 'rollbacks are pending');
$locker = session($node);
$locker->query_safe('begin; lock table other');
my $vacuum = session($node);
begin_in($vacuum, 'vacuum zheap.undo');
my $state = "select ($left) || ' ' || state from pg_stat_get_activity($vacuum->{pid})";
my $seen = '';
wait_until(sub { $seen = $node->safe_psql('postgres', $state); $seen eq '1 active' || $seen =~ /idle/ });
is($seen, '1 active', 'while it waits for a table it has told what is left of the undo');
$node->safe_psql('postgres', "select pg_cancel_backend($vacuum->{pid})");
usleep(5_000) until ended($vacuum);
like($vacuum->{answer}, qr/canceling statement/, 'it is cancelled');
is($node->safe_psql('postgres', $left), 1, 'and what it has found is not forgotten');
$aborter = session($node);
$aborter->query_safe('begin; insert into third values (1); rollback');
begin_in($vacuum, 'vacuum zheap.undo');
wait_until(sub { $node->safe_psql('postgres', $state) eq '1 active' });
# in the log that was swept, or in another
$aborter->query_safe('begin; insert into third values (1); rollback');
$locker->query_safe('commit');
usleep(5_000) until ended($vacuum);
is(pending(), '1 1', 'a rollback beside it is still to be rolled back');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is(pending(), '0 0', 'by the next one');
is($node->safe_psql('postgres', 'select count(*) from third'), 0, 'nothing is left of what was rolled back');

# ---- tables of another access method do not matter ----

damage();
$node->start;
$locker->quit;
$vacuum->quit;
$aborter->quit;
$locker = session($node);
$locker->query_safe('begin; lock table on_heap');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is(pending(), '0 0', 'nobody waits for a heap table that is locked');
$locker->quit;

# ---- several logs that cannot be read: the tables are looked through once for all of them ----

my @sessions = map { session($node) } 0 .. 2;
$_->query_safe('begin; insert into other values (2); select 1') foreach @sessions;
$_->query_safe('commit') foreach @sessions;
$_->quit foreach @sessions;
$file = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('big')");
$node->stop;
foreach my $log (0 .. $#sessions)
{
	my (undef, $newest) = log_ends($undo, $log);

	write_bytes($undo, ($newest + 1) * $BLCKSZ, "\xff" x 20);
}
rename $file, "$file.away" or die $!;
$node->start;
($rc, $out, $err) = $node->psql('postgres', 'vacuum zheap.undo');
is(scalar(() = $err =~ /rows of undo log [012]: /g), 3, 'three logs are found damaged');
is(scalar(() = $err =~ /rows of the table with OID \d+: could not open file/g), 1, 'a table is looked at once');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending() >= 3'), 't', 'all wait for it');
rename "$file.away", $file or die $!;
$node->psql('postgres', 'vacuum zheap.undo');
is(pending(), '0 0', 'and are done with it at once');

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
