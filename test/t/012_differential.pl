# Random schedules of several sessions give on zheap what they give on heap, step by step: results, errors and blocking.
# Seeds are fixed (ZHEAP_TEST_SEED: others); test/differential is the long run, and replays a schedule that fails here.
use strict;
use warnings;

use File::Basename;
use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seed = $ENV{ZHEAP_TEST_SEED} // 1;
my $count = short() ? 20 : 60;
my $node = new_server('differential',
	[ 'max_prepared_transactions = 50', 'max_worker_processes = 20', 'log_lock_waits = off' ]);
my $files = PostgreSQL::Test::Utils::tempdir();

# settings have other names in later majors
$ENV{PG_MAJOR} = pg_major();

sub differ
{
	return python('differential', '--host', $node->host, '--port', $node->port, '--workers', 2, @_);
}

# one slot per page at first in every second run: slots change hands all the time
foreach my $slots (4, 1)
{
	my ($ok, $out) = differ('--seed', $seed + ($slots == 1 ? $count / 2 : 0), '--count', $count / 2,
		'--slots', $slots, '--shrink', 30, '--max', 1);

	ok($ok, "schedules with $slots slots") or diag($out);
	like($out, qr/^\d+ schedules, [1-9]\d+ steps .* 0 differences$/m, 'steps were compared');
	diag(($out =~ /([^\n]*)\n\z/)[0]);
}

# full pages, old snapshots, many changes, sessions cancelled and terminated
{
	my ($ok, $out) = differ('--pressure', '--seed', $seed, '--count', $count, '--shrink', 30, '--max', 1);

	ok($ok, 'schedules under pressure') or diag($out);
	like($out, qr/^\d+ schedules, [1-9]\d+ steps .* 0 differences$/m, 'steps under pressure were compared');
	diag(($out =~ /([^\n]*)\n\z/)[0]);
}

# a session that waits or sleeps is cancelled or terminated, alike on both sides
my $interrupts = "setup: CREATE TABLE t (id int PRIMARY KEY, v int)\nsetup: INSERT INTO t VALUES (1, 1), (2, 1)\n"
  . "s1: BEGIN\ns1: UPDATE t SET v = 2 WHERE id = 1\ns2: UPDATE t SET v = 3 WHERE id = 1\n"
  . "s3: UPDATE t SET v = 4 WHERE id = 1\ns2: \\cancel\ns2: \\cancel\ns3: \\terminate\n"
  . "s4: BEGIN\ns4: SAVEPOINT a\ns4: \\cancel 5 DO \$\$ BEGIN UPDATE t SET v = 5 WHERE id = 2; PERFORM pg_sleep(60); END \$\$\n"
  . "s4: ROLLBACK TO a\ns4: COMMIT\ns1: \\terminate\ns0: \\horizon\n";
append_to_file("$files/interrupts", $interrupts);
{
	my ($ok, $out) = differ('--replay', "$files/interrupts", '--shrink', 0, '--verbose');

	ok($ok, 'sessions are interrupted alike') or diag($out);
	like($out, qr/s2 error 57014 .*\n.*\n\s+s2 skipped: it is not blocked\n.*\n\s+s3 terminated\n/, 'what waits is interrupted');
	like($out, qr/s4 interrupted\n.*\n\s+s4 ROLLBACK\n.*\n\s+s4 COMMIT\n.*\n\s+s1 terminated\n/, 'what runs is interrupted');
}

# schedules that once differed
my @once = glob("$FindBin::RealBin/../lib/differential/schedules/*");
isnt(scalar(@once), 0, 'there are schedules that once differed');
foreach my $file (@once)
{
	my ($ok, $out) = differ('--replay', $file, '--shrink', 0);

	ok($ok, 'schedule ' . basename($file)) or diag($out);
}

# a difference is found: of results, of blocking, of the end
my %schedule = (
	'results' => "s1: SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname = 't'\n",
	'blocking' => "s1: BEGIN\ns1: SELECT * FROM t FOR UPDATE\n"
	  . "s2: UPDATE t SET v = 2 WHERE EXISTS (SELECT FROM pg_class c JOIN pg_am a ON a.oid = relam "
	  . "WHERE relname = 't' AND amname = 'zheap')\n",
	'tables' => "s1: DO \$\$ BEGIN IF EXISTS (SELECT FROM pg_extension WHERE extname = 'zheap') THEN "
	  . "UPDATE t SET v = 5; END IF; END \$\$\n");
foreach my $what (sort keys %schedule)
{
	append_to_file("$files/$what", "setup: CREATE TABLE t (id int PRIMARY KEY, v int)\n"
		. "setup: INSERT INTO t VALUES (1, 1)\n" . $schedule{$what});
	my ($ok, $out) = differ('--replay', "$files/$what", '--shrink', 0);

	is($ok, 0, "a difference of $what fails");
	like($out, qr/^---- DIFFERENCE/m, "a difference of $what is shown");
}
no_crash_in_log($node, 'differential');
$node->stop;
done_testing();
