# Two thousand transactions in progress hold a lock on rows of one page, more than rows can name slots: by SELECT FOR KEY SHARE and by foreign keys.
# All of them count, through a crash and on a standby's pages; nobody else is kept from the page; what they leave behind is used again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZheapTest;

# as many rows as a page can have
my $rows = 291;
my $holders = 2000;
# rows from here on nobody locks but where it says so
my $unlocked = 201;

my $node = new_server('crowd', [
		"wal_consistency_checking = 'all, zheap'", 'wal_compression = on', 'shared_buffers = 32MB', 'autovacuum = off',
		'max_wal_size = 1GB', 'checkpoint_timeout = 1h', 'max_prepared_transactions = 2400' ],
	allows_streaming => 1);
my $standby = new_standby($node, 'standby', 'max_standby_streaming_delay = 600s');

$node->safe_psql('postgres', <<"SQL");
create table parent (id int primary key, n int) using zheap;
insert into parent select g, 0 from generate_series(1, $rows) g;
create table child (id int, parent int references parent) using zheap;
SQL
is($node->safe_psql('postgres', "select max(ctid) < '(1,0)' from parent"), 't', 'all rows are on one page');

sub pages
{
	return $node->safe_psql('postgres', "select pg_relation_size('parent') / current_setting('block_size')::int");
}

# ---- prepared transactions: sessions that cost nothing ----

sub prepare
{
	my ($name, $n, $statement) = @_;
	my $script = '';

	foreach my $i (1 .. $n)
	{
		my $do = $statement->($i);
		$script .= "begin; $do; prepare transaction '$name$i';\n";
	}
	my ($rc, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	my @errors = $err =~ /(ERROR: .*)/g;

	is(scalar(@errors), 0, "$name: nobody fails") or diag($errors[0]);
	is($node->safe_psql('postgres', "select count(*) from pg_prepared_xacts where gid ~ '^${name}[0-9]'"), $n, "$name: all are there at the same time");
	return;
}

sub finish
{
	my ($name, $command) = @_;
	my $gids = $node->safe_psql('postgres', "select gid from pg_prepared_xacts where gid ~ '^${name}[0-9]' order by prepared");
	my $i = 0;

	$node->safe_psql('postgres', join("\n", map { (ref $command ? $command->($i++) : $command) . " prepared '$_';" } split /\n/, $gids));
	return;
}

# A row that is locked: the first hundred by SELECT, the second by foreign keys.
sub lock_a_parent
{
	my ($i) = @_;
	my $id = 1 + $i % ($unlocked - 1);

	return $id <= 100 ? "select from parent where id = $id for key share" : "insert into child values ($i, $id)";
}

# ---- what others may do ----

sub attempt
{
	my ($sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "begin; $sql; rollback");

	return $err =~ /could not obtain lock on row/ ? 'locked' : $rc == 0 ? 'done' : $err;
}

sub is_locked
{
	my ($id, $what) = @_;

	is(attempt("select from parent where id = $id for update nowait"), 'locked', "$what: row $id is locked");
	return;
}

sub is_not_locked
{
	my ($id, $what) = @_;

	is(attempt("select from parent where id = $id for update nowait"), 'done', "$what: row $id is not locked");
	return;
}

sub others_see
{
	my ($what) = @_;

	is_locked($_, $what) foreach 1, 100, 101, 200;
	is_not_locked($_, $what) foreach $unlocked, $rows;
	is(attempt('select from parent where id = 1 for no key update nowait; update parent set n = n + 1 where id = 150'), 'done', "$what: an update of no key goes on");
	is($node->safe_psql('postgres', 'select count(*), sum(n) from parent'), "$rows|0", "$what: a reader sees the rows");
	return;
}

sub replayed
{
	my ($what) = @_;

	caught_up($node, $standby);
	unlike(slurp_file($standby->logfile), qr/inconsistent page found|PANIC/, "$what: no page differs");
	return;
}

# ---- two thousand ----

prepare('first', $holders, \&lock_a_parent);
others_see('first');
is($node->safe_psql('postgres', 'select count(*) from child'), 0, 'first: the children are not there yet');
my $pages = pages();
# the table page, the overflow page, and lock pages of 480 slots for those who find no room there
cmp_ok($pages, '>=', 2 + 3, 'first: there are lock pages');
cmp_ok($pages, '<=', 2 + 5, 'first: no more of them than are needed');
replayed('first');

# every row gets changed by a transaction of its own beside them, and rolled back
prepare('change', $rows, sub { "update parent set n = 1 where id = $_[0]" });
is($node->safe_psql('postgres', 'select count(*), sum(n) from parent'), "$rows|0", 'change: a reader sees the rows as they were');
finish('change', 'rollback');
is($node->safe_psql('postgres', 'select count(*), sum(n) from parent'), "$rows|0", 'change: the rows are what they were');

crash($node);
start_again($node);
unlike(slurp_file($node->logfile), qr/inconsistent page found/, 'after a crash: no page differs');
is($node->safe_psql('postgres', 'select count(*) from pg_prepared_xacts'), $holders, 'after a crash: all are there');
others_see('after a crash');

# a deletion waits for all of them, one by one
my $deleter = session($node);
begin_in($deleter, 'begin; delete from parent where id = 3; rollback');
ok($node->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity where pid = $deleter->{pid} and wait_event_type = 'Lock'"), 'a deletion waits');
finish('first', sub { return $_[0] % 2 ? 'rollback' : 'commit' });
usleep(5_000) until ended($deleter);
is($deleter->{answer}, '', 'then it goes on');
$deleter->quit;
is($node->safe_psql('postgres', 'select count(*) > 400, count(*) < 600 from child'), 't|t', 'half of the children are there');
is_not_locked($_, 'after the first') foreach 1, 100, 101;

# ---- what they leave is used again ----

prepare('second', $holders, \&lock_a_parent);
is(pages(), $pages, 'second: no more pages');
others_see('second');
finish('second', 'rollback');
prepare('third', $holders, \&lock_a_parent);
is(pages(), $pages, 'third, after aborted ones: no more pages');
others_see('third');
finish('third', 'commit');
replayed('third');

# ---- savepoints of a transaction that has no slot but on a lock page ----

prepare('before', 600, \&lock_a_parent);
my $session = session($node);
my $lock = 'select from parent where id = %d for key share';
$session->query_safe(join ';', 'begin', sprintf($lock, 202), 'savepoint s', sprintf($lock, 203), 'rollback to s');
is_locked(202, 'savepoint rolled back');
is_not_locked(203, 'savepoint rolled back');

# others, many, look for a slot while a rolled back one is the newest of ours
prepare('beside', 600, \&lock_a_parent);
is_locked(202, 'others have come');
is_not_locked(203, 'others have come');
$session->query_safe(join ';', sprintf($lock, 204), 'savepoint s', sprintf($lock, 205), 'release s', sprintf($lock, 206),
	'savepoint s', sprintf($lock, 207), 'savepoint t', sprintf($lock, 208), 'rollback to t', sprintf($lock, 209), 'rollback to s', sprintf($lock, 210));
is_locked($_, 'savepoints') foreach 202, 204, 205, 206, 210;
is_not_locked($_, 'savepoints') foreach 203, 207, 208, 209;
my $full = pages();
$session->query_safe(<<"SQL");
do \$\$
begin
	for i in 1 .. 1000 loop
		begin
			perform from parent where id = 211 + i % 20 for key share;
			raise exception 'over';
		exception when raise_exception then null;
		end;
	end loop;
end \$\$
SQL
is(pages(), $full, 'a loop of a thousand exceptions: no more pages');
is_locked($_, 'a loop of exceptions') foreach 202, 204, 205, 206, 210;
is_not_locked($_, 'a loop of exceptions') foreach 203, 211, 220, 230;
# a change needs a slot that the row can name
$session->query_safe('update parent set n = n + 1 where id in (202, 240)');
is(attempt('select from parent where id = 240 for update nowait'), 'locked', 'an update by a transaction with a lock slot');
$session->query_safe('commit');
is_not_locked($_, 'at the end') foreach 202, 204, 205, 206, 210, 240;
is($node->safe_psql('postgres', 'update parent set n = 0 where n <> 0 returning id'), "202\n240", 'the update is there');

# one that is rolled back altogether, with its savepoints
$session->query_safe(join ';', 'begin', sprintf($lock, 202), 'savepoint s', sprintf($lock, 203), 'release s', 'savepoint s', sprintf($lock, 204));
is_locked($_, 'once more') foreach 202, 203, 204;
$session->query_safe('rollback');
is_not_locked($_, 'rolled back') foreach 202, 203, 204;

# more records than lie between two directories of a chain
my $one = session($node);
$one->query_safe(join ';', 'begin', map { ("savepoint s$_", sprintf($lock, $unlocked + $_ % 90)) } 1 .. 450);
is_locked($unlocked + $_, 'by one of hundreds of savepoints') foreach 0, 44, 89;
$one->query_safe('rollback to s1');
is_not_locked($unlocked + $_, 'savepoints rolled back') foreach 0, 44, 89;
$one->query_safe('commit');
$_->quit foreach $session, $one;
finish('before', 'commit');
finish('beside', 'rollback');
replayed('savepoints');

# ---- VACUUM ----

$pages = pages();
$node->safe_psql('postgres', "insert into parent select g, 0 from generate_series(1001, 5000) g; delete from parent where id > 1000");
cmp_ok(pages(), '>', $pages, 'a longer table');
$node->safe_psql('postgres', 'vacuum parent');
is(pages(), $pages, 'VACUUM leaves the lock pages of a page in use');
prepare('fourth', $holders, \&lock_a_parent);
others_see('fourth');
is(pages(), $pages, 'fourth: they are used again');
finish('fourth', 'commit');
$node->safe_psql('postgres', 'delete from child; delete from parent; vacuum parent');
is(pages(), 0, 'VACUUM truncates them along with the page');
$node->safe_psql('postgres', "insert into parent select g, 0 from generate_series(1, $rows) g");
prepare('fifth', 600, \&lock_a_parent);
others_see('fifth');
finish('fifth', 'rollback');
replayed('VACUUM');
is(table_digest($standby, 'parent'), table_digest($node, 'parent'), 'the standby has the same rows');

$standby->stop;
no_crash_in_log($node, 'in the end');
no_crash_in_log($standby, 'standby');
$node->stop;
done_testing();
