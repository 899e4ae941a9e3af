# A page that cannot be read keeps nobody else waiting: workers and VACUUM rolled back all other aborted rows, of that table, of others, of later
# transactions and of other databases; the log hears of it once, the view counts it; it ends when the page is back or the table gone.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use ZheapTest;

my $node = new_server('errors', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_worker_naptime = 20ms', 'zheap.undo_hold_warning = -1' ], checksums => 0);

# Write into the header of a page: the server does not accept it.  Returns what was there.
sub damage
{
	my ($file, $block, $bytes) = @_;

	return write_bytes($file, $block * 8192 + 12, $bytes // pack('v', 60000));
}

# Pages of a table with rows of an aborted transaction: what putting back leaves of them can be told from
# the file, since readers change no page.
sub put_back
{
	my ($table, $what, $db) = @_;
	my $path = $node->data_dir . '/' . $node->safe_psql($db // 'postgres', "select pg_relation_filepath('$table')");

	ok(wait_until(sub { $node->safe_psql('postgres', 'checkpoint'); slurp_file($path) !~ /never/ }), $what);
	return;
}

# Tries that have failed.
sub errors
{
	return $node->safe_psql('postgres', "select errors from zheap.zheap_stat_workers where role = 'launcher'");
}

$node->safe_psql('postgres', 'create database other');
foreach my $db (qw(postgres other))
{
	$node->safe_psql($db, <<'SQL');
create extension if not exists zheap;
create table bad (id int primary key, v text) using zheap;
create table good (id int, v text) using zheap;
insert into bad select g, 'is here' from generate_series(1, 2000) g;
insert into good select g, 'is here' from generate_series(1, 2000) g;
SQL
}
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('bad')");
# all in one undo log: the damaged page's records lie before, between and behind those of others
$node->safe_psql('postgres', <<'SQL');
begin; update good set v = 'never1' where id < 300; update bad set v = 'never1'; update good set v = 'never2' where id > 1000; rollback;
begin; update bad set v = 'never3' where id < 100; rollback;
begin; update good set v = 'never4'; rollback;
SQL
$node->safe_psql('other', "begin; update good set v = 'never'; rollback");
my $log_start = -s $node->logfile;
$node->stop;
my $had = damage($file, 0);
$node->start;
isnt($node->psql('postgres', 'select count(*) from bad'), 0, 'the page cannot be read');

# ---- VACUUM, without workers ----

my ($rc, $out, $err) = $node->psql('postgres', 'vacuum zheap.undo');
is($rc, 0, 'VACUUM of the undo relation goes on');
my @warnings = $err =~ /(WARNING:  .*)/g;
is(scalar @warnings, 1, 'one warning');
like($warnings[0], qr/could not roll back rows in block 0 of table "bad": invalid page in block 0/, 'that names the page');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), 1, 'its log is pending');
put_back('good', 'all of the other table is rolled back');
is($node->safe_psql('postgres', "select kind, relation, pid from zheap.zheap_undo_holders where kind = 'rollback'"), 'rollback|bad|', 'the view of holders tells of it, and names the table');

# ---- workers ----

my $begin = time();
set_and_reload($node, 'zheap.undo_workers = 2');
put_back('good', 'the other database', 'other');
# what cannot be rolled back is tried after 1, 2, 4 ... seconds: nobody else waits for that
my $waited = 0;
for my $round (1 .. 5)
{
	my $errors = errors();

	$node->safe_psql('postgres', "begin; update good set v = 'never5'; rollback; set enable_seqscan = off; set enable_bitmapscan = off; begin; update bad set v = 'never6' where id > 1500; rollback");
	put_back('good', "later rollbacks, round $round");
	$waited++ if errors() > $errors;
}
cmp_ok($waited, '<', 5, 'which do not wait for another try of what cannot be rolled back');
$node->safe_psql('other', "begin; update bad set v = 'never'; update good set v = 'never'; rollback");
put_back($_, "other database, $_", 'other') foreach qw(bad good);
my $where = "role = 'launcher' and errors > 2 and last_error_at between now() - interval '5min' and now()";
ok($node->poll_query_until('postgres', "select count(*) = 1 from zheap.zheap_stat_workers where $where"), 'the view counts errors');
is($node->safe_psql('postgres', "select last_error ~ '^database \"postgres\": .*invalid page in block 0 of relation' from zheap.zheap_stat_workers where role = 'launcher'"),
	't', 'and tells the last one');
# two retries more
my $errors = errors();
ok(wait_until(sub { errors() >= $errors + 2 }), 'it is tried again');
my $log = substr(slurp_file($node->logfile), $log_start);
my $told = () = $log =~ /LOG:  could not roll back/g;
ok($told >= 1 && $told <= 1 + (time() - $begin) / 60, "the log hears of it once, then after 1, 2, 4 ... minutes ($told times)");
like($log, qr/LOG:  could not roll back rows in block 0 of table "bad": invalid page.*\n.*DETAIL:  Database "postgres" keeps undo/, 'with what follows from it');
my $tries = errors();
cmp_ok($tries, '<', 60, "it is not tried all the time ($tries errors)");
unlike($log, qr/ERROR:  (?!invalid page in block 0)/, 'no worker has failed');

# the rest of what can be done is done: writers beside it, their undo is recycled as soon as it is nobody's
is($node->psql('postgres', "update good set v = 'changed'"), 0, 'the other table can be changed');
my $pending = $node->safe_psql('postgres', 'select pending_transactions from zheap.zheap_stat_undo');
cmp_ok($pending, '<', 30, "transactions pending: $pending");

# ---- the page comes back ----

$node->stop;
damage($file, 0, $had);
$node->start;
wait_undone($node, 'what is left is rolled back');
is($node->safe_psql('postgres', "select count(*), count(*) filter (where v = 'is here') from bad"), '2000|2000', 'all rows are as before');

# ---- undo that cannot be read ----

set_and_reload($node, 'zheap.undo_workers = 0');
my $one = $node->background_psql('postgres');
my $two = $node->background_psql('postgres');
# two logs; the second one's is damaged
$one->query_safe('begin');
$one->query_safe("update good set v = 'never7' where id <= 1000");
$two->query_safe('begin');
$two->query_safe("update bad set v = 'never8' where id <= 1000");
$two->query_safe('rollback');
$one->query_safe('rollback');
$_->quit foreach $one, $two;
my $undo = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('zheap.undo')");
$node->stop;
my $content = slurp_file($undo);
my @damaged;
foreach my $block (16 .. length($content) / 8192 - 1)
{
	# the table's rows are 'is here' before; a page of the second log names 'bad' by its file number
	my $page = substr($content, $block * 8192, 8192);
	next if unpack('v', substr($page, 12, 2)) <= 24;
	push @damaged, $block;
}
# the last page written of all is the second log's or one that follows it
note("undo pages: @damaged");
my $page = $damaged[-1];
$had = damage($undo, $page);
$node->start;
set_and_reload($node, 'zheap.undo_workers = 2');
ok($node->poll_query_until('postgres', "select errors > 0 from zheap.zheap_stat_workers where role = 'launcher'"), 'undo cannot be read');
$node->safe_psql('other', "begin; update good set v = 'never9'; rollback");
put_back('good', 'the other database does not wait', 'other');
$node->stop;
damage($undo, $page, $had);
$node->start;
wait_undone($node, 'undo is back: all is rolled back');
is($node->safe_psql('postgres', "select count(*) from bad where v like 'never%'") + $node->safe_psql('postgres', "select count(*) from good where v like 'never%'"),
	0, 'all rows are right');

# ---- the table goes ----

set_and_reload($node, 'zheap.undo_workers = 0');
$node->safe_psql('postgres', "begin; update bad set v = 'never10'; rollback");
$node->stop;
damage($file, 0);
$node->start;
set_and_reload($node, 'zheap.undo_workers = 2');
ok($node->poll_query_until('postgres', "select errors > 0 from zheap.zheap_stat_workers where role = 'launcher'"), 'damaged once more');
my $old = $node->background_psql('postgres');
$old->query_safe('begin isolation level repeatable read');
$old->query_safe('select count(*) from good');
$node->safe_psql('postgres', 'truncate bad');
wait_undone($node, 'a table that is truncated is not waited for, though an old snapshot is open');
$old->query_safe('commit');
$old->quit;

# ---- databases that workers cannot connect to: tried after 1, 2, 4 ... seconds, and once more when somebody aborts ----

set_and_reload($node, 'zheap.undo_workers = 0');
$node->safe_psql('postgres', 'create database third');
$node->safe_psql('third', 'create extension zheap; create table good (id int, v text) using zheap');
my %session = map { $_ => session($node, $_) } qw(other third);
my %dir = map { $_ => $node->data_dir . '/base/' . $node->safe_psql($_, 'select oid from pg_database where datname = current_database()') } keys %session;
$log_start = -s $node->logfile;

sub abort_in
{
	$session{ $_[0] }->query_safe("begin; insert into good values (0, 'never'); rollback");
	return;
}

# Workers that could not connect.
sub refused
{
	my ($base) = $dir{ $_[0] } =~ /(base\/\d+)$/;

	return scalar(() = substr(slurp_file($node->logfile), $log_start) =~ /"$base" is not a valid data directory/g);
}

rename "$_/PG_VERSION", "$_/PG_VERSION.away" or die $! foreach values %dir;
abort_in('other');
set_and_reload($node, 'zheap.undo_workers = 2');
# always ahead of the third
ok(wait_until(sub { refused('other') > 0 }), 'workers cannot connect to one database');
abort_in('third');
ok(wait_until(sub { refused('other') >= 5 && refused('third') >= 5 }), 'nor to another, and try again');
my $tried = refused('other');
rename "$dir{third}/PG_VERSION.away", "$dir{third}/PG_VERSION" or die $!;
abort_in('third');
ok(wait_until(sub { $node->safe_psql('third', 'select zheap.zheap_undo_pending()') eq '0' }), 'a database is itself again, and somebody aborts');
is(refused('other'), $tried, 'which does not wait until it would have been its turn');
for (1 .. 200)
{
	abort_in('other');
	usleep(10_000);
}
cmp_ok(refused('other'), '<=', 2 * 8, 'workers do not try all the time where all fails');
rename "$dir{other}/PG_VERSION.away", "$dir{other}/PG_VERSION" or die $!;
abort_in('other');
ok(wait_until(sub { $node->safe_psql('other', 'select zheap.zheap_undo_pending()') eq '0' }), 'all is rolled back when it does not');
$_->quit foreach values %session;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
