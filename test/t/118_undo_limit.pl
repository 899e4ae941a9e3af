# zheap.undo_max_size limits the undo that is in use, also where the file has grown under another limit; readers and rolling back go on meanwhile.
# What rounds to 0 is refused, so that no small value turns a limit off.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $MB = 1024 * 1024;
my $limit = 4 * $MB;
my $node = new_server('limit', [ 'shared_buffers = 64MB', 'autovacuum = off', 'zheap.undo_workers = 0', 'max_wal_size = 2GB', 'checkpoint_timeout = 1h' ]);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub stat_undo
{
	return ask("select $_[0] from zheap.zheap_stat_undo");
}

# Error and all.
sub try
{
	my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$_[0]");

	return $err;
}

my $refused = qr/ERROR:  53400: undo in use would exceed "zheap.undo_max_size" \(4 MB\)\nDETAIL:  \d+ kB of undo are in use/;

# ---- 1. values ----

foreach my $value ("'512kB'", "'1kB'", '0', "'100B'")
{
	like(try("alter system set zheap.undo_max_size = $value"), qr/ERROR:  22023: invalid value for parameter "zheap.undo_max_size".*DETAIL:.*rounds to 0.*HINT:  Use -1/s, "refused: $value");
}
like(try('set zheap.temp_undo_max_size = 0'), qr/ERROR:  22023: invalid value.*HINT:  Use -1/s, 'nor is 0 a limit for temporary undo');
is(ask("set zheap.temp_undo_max_size = '513B'; show zheap.temp_undo_max_size"), '1kB', 'values are rounded');
set_and_reload($node, "zheap.undo_max_size = '513kB'");
is(ask('show zheap.undo_max_size'), '1MB', 'to whole megabytes');
set_and_reload($node, "zheap.undo_max_size = '512kB'");
is(ask('show zheap.undo_max_size'), '1MB', 'a value in a file that is refused leaves the limit as it was');
set_and_reload($node, 'zheap.undo_max_size = -1');

# ---- 2. the file has grown without a limit ----

ask("create table big (id int primary key, n int, v text) using zheap; insert into big select g, 0, repeat('a', 100) from generate_series(1, 60000) g");
ask('create table small (id int primary key, n int) using zheap; insert into small select g, 0 from generate_series(1, 100) g');
my $change = 'update big set n = n + 1, v = repeat(chr(98 + n % 20), 100)';
my $holder = session($node);
answer_in($holder, 'begin isolation level repeatable read; select sum(n) from big');
ask($change) foreach 1 .. 2;
my $file = stat_undo('total_bytes');
cmp_ok($file, '>', 3 * $limit, "without a limit there is more undo than the limit: $file");
set_and_reload($node, "zheap.undo_max_size = '4MB'");
like(try($change), $refused, 'what others keep counts');
like(try($change), qr/kept back by the transaction of process $holder->{pid}\./, 'and is named');
is(answer_in($holder, 'select sum(n) from big'), '0', 'readers of it go on');
answer_in($holder, 'commit');
is(try('update small set n = n + 1'), '', 'when it is not needed any more, small transactions go on');
like(try($change), $refused, 'a large one meets the limit in the file that has room');
is(stat_undo('total_bytes'), $file, 'which has not changed');
cmp_ok(stat_undo('live_bytes'), '<=', $limit, 'not more than the limit is in use');
is(ask('select count(*), sum(n) from big'), '60000|120000', 'rows are as before');
ask('vacuum zheap.undo');
is(stat_undo('pending_bytes'), '0', 'what had failed is rolled back');

# one that was in progress when the limit was lowered
set_and_reload($node, 'zheap.undo_max_size = -1');
answer_in($holder, "begin; $change");
set_and_reload($node, "zheap.undo_max_size = '4MB'");
cmp_ok(stat_undo('live_bytes'), '>', $limit, 'a transaction in progress has more');
like(answer_in($holder, $change), qr/undo in use would exceed/, 'it gets no more');
answer_in($holder, 'rollback');
cmp_ok(stat_undo('pending_bytes'), '>', $limit, 'more than the limit is to be rolled back');
ask('vacuum zheap.undo');
is(stat_undo('pending_bytes'), '0', 'and it is');
is(ask('select count(*), sum(n) from big'), '60000|120000', 'rows are as before it');
# snapshots have to get newer than what was rolled back, so the first ones may fail
try('update small set n = n + 1') foreach 1 .. 2;
is(try('update small set n = n + 1'), '', 'writers go on');
is(try($change . ' where id <= 5000'), '', 'also those that need some undo');

# ---- 3. sessions that are idle keep nothing ----

set_and_reload($node, 'zheap.undo_max_size = -1');
my @sessions = map { session($node) } 1 .. 24;
answer_in($_, 'update small set n = n + 1 where id = 1') foreach @sessions;
cmp_ok(stat_undo('live_bytes'), '>', $limit, 'each session has its extent');
set_and_reload($node, "zheap.undo_max_size = '4MB'");
# the first one notes that they are idle
try($change . ' where id <= 5000') foreach 1 .. 2;
is(try($change . ' where id <= 5000'), '', 'a writer takes them');
cmp_ok(stat_undo('live_bytes'), '<=', $limit, 'up to the limit');
is(answer_in($sessions[$_], 'update small set n = n + 1 where id = 2; select 1'), '1', "session $_ goes on") foreach 0, 23;
$_->quit foreach @sessions, $holder;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
