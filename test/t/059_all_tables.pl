# VACUUM of the undo relation, where that cannot be read, looks through all tables: it is in nobody's way, waits for short locks, and comes to an end
# beside a table without its file.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $BLCKSZ = 8192;
my $node = new_server('alltables', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_hold_warning = -1', 'max_prepared_transactions = 5' ]);
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

	open my $fh, '+<:raw', $undo or die "$undo: $!";
	seek $fh, $blocks[ @blocks / 2 ] * $BLCKSZ, 0;
	print $fh "\xff" x 20;
	close $fh;
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

-- how many locks are had at once, and how many not, while the undo relation is vacuumed
create function tries(vacuum int, out had int, out refused int) language plpgsql as $$
begin
	had := 0;
	refused := 0;
	while not exists (select from pg_locks where pid = vacuum and relation = 'zheap.undo'::regclass) loop
	end loop;
	while exists (select from pg_locks where pid = vacuum and relation = 'zheap.undo'::regclass) loop
		begin
			lock table big, other in access exclusive mode nowait;
			raise exception sqlstate 'ZZ001';
		exception
			when sqlstate 'ZZ001' then had := had + 1;
			when lock_not_available then refused := refused + 1;
		end;
		perform pg_sleep(0.001);
	end loop;
end $$;
SQL

# ---- locks while it is at work ----

damage();
$node->start;
isnt(pending(), '0 0', 'after a restart nobody knows what was committed');
my $vacuum = session($node);
my $locker = session($node);
begin_in($locker, "select * from tries($vacuum->{pid})");
ok($node->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity where pid = $locker->{pid} and state = 'active'"), 'somebody wants locks');
begin_in($vacuum, 'vacuum zheap.undo');
1 until ended($vacuum);
1 until ended($locker);
my ($had, $refused) = split /\|/, $locker->{answer};
$_->quit foreach $vacuum, $locker;
note("$had locks had, $refused refused");
cmp_ok($had, '>=', 5, 'tables can be locked');
cmp_ok($refused, '<=', 1 + $had / 20, 'and at once');
like($vacuum->{answer}, qr/WARNING: .*could not roll back/, 'VACUUM tells what was wrong');
is(pending(), '0 0', 'and found that nothing is left');

# ---- a lock that lasts for a while ----

damage();
$node->start;
$locker = session($node);
$locker->query_safe('begin; lock table other');
begin_in($locker, 'select pg_sleep(1); commit');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is(pending(), '0 0', 'a lock is waited for');
1 until ended($locker);
$locker->quit;

# ---- one that stays, and a table that has lost its file ----

my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('big')");
damage();
rename $file, "$file.away" or die $!;
$node->start;
$locker = session($node);
$locker->query_safe('begin; lock table other');
my ($rc, $out, $err) = $node->psql('postgres', "set statement_timeout = '100s'; vacuum zheap.undo");
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

	open my $fh, '+<:raw', $undo or die "$undo: $!";
	seek $fh, ($newest + 1) * $BLCKSZ, 0;
	print $fh "\xff" x 20;
	close $fh;
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
