# The file system that the undo relation is on gets full: the writer gets an ERROR, nothing is lost, and all goes on when there is space again.
# The test runs in a mount namespace of its own, with a small tmpfs as the database's tablespace.
use strict;
use warnings;

# before the modules take over standard output
BEGIN
{
	my @namespace = ('unshare', '--user', '--map-current-user', '--keep-caps', '--mount');

	if (!$ENV{ZHEAP_TEST_NAMESPACE})
	{
		if (system("@namespace mount -t tmpfs tmpfs /mnt >/dev/null 2>&1") != 0)
		{
			print "1..0 # SKIP a file system cannot be mounted here (unshare)\n";
			exit 0;
		}
		$ENV{ZHEAP_TEST_NAMESPACE} = 1;
		exec @namespace, $^X, (map { "-I$_" } grep { !ref } @INC), $0;
	}
}

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $disk = PostgreSQL::Test::Utils::tempdir_short();
system('mount', '-t', 'tmpfs', '-o', 'size=40m,mode=0700', 'tmpfs', $disk) == 0 or die;
my $node = new_server('disk_full', [ 'shared_buffers = 16MB', 'autovacuum = off', 'zheap.undo_worker_naptime = 50ms' ]);
$node->safe_psql('postgres', "create tablespace small location '$disk'");
$node->safe_psql('postgres', 'create database d tablespace small');
$node->safe_psql('d', <<'SQL');
create extension zheap;
create table t (id int primary key, n int) using zheap tablespace pg_default;
insert into t select g, 0 from generate_series(1, 500000) g;
create table u (id int primary key, n int) using zheap tablespace pg_default;
insert into u select g, 0 from generate_series(1, 100) g;
SQL
is($node->safe_psql('d', "select pg_relation_filepath(c.oid) like 'pg_tblspc/%' from pg_class c join pg_am a on a.oid = relam where amname = 'zheap_undo'"),
	't', 'the undo relation is in the small tablespace');
my $digest = rows();

# needs no temporary file
sub rows
{
	return $node->safe_psql('d', 'select count(*), sum(id), sum(n), sum(hashint4(id # n)::bigint) from t');
}

foreach my $round (1 .. 3)
{
	# files of the catalog have got their space by then, and the undo relation has
	# given back what the round before has left free
	ok(wait_until(sub { $node->safe_psql('d', 'vacuum; checkpoint'); $node->safe_psql('d', 'select total_bytes < 4 * 1024 * 1024 from zheap.zheap_stat_undo') eq 't' }),
		"round $round: undo is short at first");
	# all but a megabyte or two is taken by somebody else
	my ($free) = `df --output=avail -k $disk` =~ /(\d+)/;
	my $ballast = int($free / 1024) - 1;
	system("dd if=/dev/zero of=$disk/ballast bs=1M count=$ballast 2>/dev/null") == 0 or die if $ballast > 0;
	system("dd if=/dev/zero of=$disk/reserve bs=1k count=512 2>/dev/null") == 0 or die;
	my $other = $node->background_psql('d', on_error_stop => 0);
	$other->query_safe('begin');
	$other->query_safe("update u set n = n + 1 where id = $round");
	my ($rc, $out, $err) = $node->psql('d', '\set VERBOSITY verbose' . "\nupdate t set n = n + 1");
	is($rc, 3, "round $round: the writer fails");
	like($err, qr/ERROR:  53100: could not extend file .*No space left on device/, "round $round: with an ERROR that says why");
	is(rows(), $digest, "round $round: nothing is changed, and readers are not hindered");
	$other->query_safe('commit');
	$other->quit;
	is($node->safe_psql('d', "select n from u where id = $round"), 1, "round $round: another transaction commits");
	ok($node->poll_query_until('d', 'select zheap.zheap_undo_pending() = 0'), "round $round: what was rolled back is rolled back");
	crash($node) if $round == 2;
	# after a crash the first session writes the relation cache's file, or fails
	unlink "$disk/reserve";
	start_again($node) if $round == 2;
	is(rows(), $digest, "round $round: nothing is lost");
	unlink "$disk/ballast";
	is($node->psql('d', 'update t set n = n + 1'), 0, "round $round: with space again it works");
	is($node->safe_psql('d', 'select count(*), min(n), max(n) from t'), "500000|$round|$round", "round $round: as it should");
	$digest = rows();
	btrees_agree_in($node, "round $round");
}

sub btrees_agree_in
{
	my ($server, $what) = @_;

	$server->safe_psql('d', "create extension if not exists amcheck; select bt_index_parent_check('t_pkey', true, true)");
	pass("$what: amcheck");
	return;
}

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
