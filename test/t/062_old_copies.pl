# (One row of a page: several would have been rolled back in the copy at once.)
# Readers that go with a copy of a page from before aborted rows were rolled back: what aborted stays invisible to them.
# On a standby the horizon may pass such rows only when those readers are gone; here it does so while it is held back by something newer.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $primary = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0' ], allows_streaming => 1);
$primary->safe_psql('postgres', <<'SQL');
create table a (id int, v text) using zheap;
create table b (id int, v text) using zheap;
create table much (id int, v text) using zheap;
create table big (id int, v text) using zheap;
insert into much select g, repeat('x', 100) from generate_series(1, 15000) g;
alter table big alter v set storage plain;
insert into a select g, 'old' from generate_series(1, 5) g;
insert into b select g, 'old' from generate_series(1, 5) g;
SQL
my $standby = new_standby($primary, 'standby', 'max_standby_streaming_delay = 0');

my $horizon = 'select horizon from zheap.zheap_undo_stats()';
my $rest = "fetch all from c";
my $open = 'begin isolation level repeatable read; declare c cursor for select v from a; fetch 1 from c';

sub use_xids
{
	$primary->safe_psql('postgres', join(';', ('select pg_current_xact_id()') x 5));
	return;
}

# A reader on the standby sees the old rows, or is cancelled.
sub reader_is_right
{
	my ($reader, $what) = @_;
	# psql ends when its server process is terminated
	my $out = eval { scalar $reader->query($rest) } // 'cancelled';

	ok($out eq "old\nold\nold\nold" || $out eq 'cancelled', "$what: the rest of the page is old, or the reader is cancelled")
	  or diag($out);
	eval { $reader->quit };
	return;
}

# A transaction that aborted was rolled back, one that did later could not be; a reader on
# the standby has a copy of the first one's page from before.  Returns it, and two
# sessions of the primary: the second one's table is locked until they end.
sub read_beside_aborts
{
	$primary->safe_psql('postgres', "begin; update a set v = 'aborted' where id = 3; rollback");
	my $other = $primary->background_psql('postgres');
	$other->query_safe("begin; update b set v = 'aborted'; rollback");
	my $locker = $primary->background_psql('postgres');
	$locker->query_safe('begin; lock table b in share mode');
	use_xids();
	caught_up($primary, $standby);
	my $reader = $standby->background_psql('postgres');
	is($reader->query($open), 'old', 'standby: a page is copied');
	$primary->safe_psql('postgres', 'vacuum zheap.undo');
	return ($reader, $locker, $other);
}

# rolled back, and the horizon is held by another transaction that aborted later
my ($reader, @others) = read_beside_aborts();
use_xids();
$primary->safe_psql('postgres', 'vacuum zheap.undo');
caught_up($primary, $standby);
reader_is_right($reader, 'standby, horizon held by an abort');
$_->quit foreach @others;

# rolled back, and what is to be waited for is forgotten with a restart
$primary->safe_psql('postgres', 'vacuum zheap.undo');
use_xids();
$primary->safe_psql('postgres', 'vacuum zheap.undo');
($reader, @others) = read_beside_aborts();
$primary->stop('immediate');
eval { $_->quit } foreach @others;
$primary->start;
use_xids();
$primary->safe_psql('postgres', 'vacuum zheap.undo');
use_xids();
caught_up($primary, $standby);
reader_is_right($reader, 'standby, the primary was restarted');

# rolled back, and then the horizon passes it with an extent that is used again; every
# page is changed once only, so that no slot's owner is forgotten on the way
$primary->safe_psql('postgres', 'vacuum zheap.undo');
use_xids();
$primary->safe_psql('postgres', 'vacuum zheap.undo');
my $writer = $primary->background_psql('postgres');
my $aborted = $writer->query_safe("begin; update a set v = 'aborted' where id = 3; select pg_current_xact_id(); rollback");
$writer->query_safe("update much set v = repeat('y', 100) where id <= 5000");
use_xids();
caught_up($primary, $standby);
$reader = $standby->background_psql('postgres');
is($reader->query($open), 'old', 'standby: a page is copied');
$primary->safe_psql('postgres', 'vacuum zheap.undo');
use_xids();
my $passed = 0;
for (my $i = 1; $i <= 100 && !$passed; $i++)
{
	$writer->query_safe("update much set v = repeat('z', 100) where id > 5000 and (id - 5001) / 100 + 1 = $i");
	caught_up($primary, $standby);
	$passed = $standby->safe_psql('postgres', $horizon) > $aborted;
}
ok($passed, 'standby: the horizon has passed it');
reader_is_right($reader, 'standby, an extent is used again');

# on the primary: the sweep pauses where a transaction in progress begins
$primary->safe_psql('postgres', 'vacuum zheap.undo');
$writer->query_safe("begin; update a set v = 'aborted' where id = 3; insert into big select g, repeat('x', 5000) from generate_series(1, 9999) g; rollback");
$writer->query_safe("begin; insert into b values (1, 'x')");
$reader = $primary->background_psql('postgres');
is($reader->query($open), 'old', 'primary: a page is copied');
$primary->safe_psql('postgres', 'vacuum zheap.undo');
use_xids();
$primary->safe_psql('postgres', 'vacuum zheap.undo');
is($reader->query($rest), "old\nold\nold\nold", 'primary, a sweep pauses: the rest of the page');
$reader->quit;
$writer->query_safe('commit');
$writer->quit;

$standby->stop;
$primary->stop;
no_crash_in_log($primary, 'to the end');
done_testing();
