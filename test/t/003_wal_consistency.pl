# Replay gives the same pages: the regression suite and pgbench under wal_consistency_checking = all, with a standby.
# The standby stops at the first page that differs; at the end its tables equal the primary's.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $top = dirname(dirname($FindBin::RealBin));
my $expected = "$top/expected";

# each record carries an image of its pages: tests of bulk are left out
my %bulky = map { $_ => 1 } qw(bulk stats bitmap parallel);
$bulky{$_} = 1 foreach (short() ? qw(index_am abort toast reuse copy) : ());
# these tell how much space VACUUM gave back, which depends on what else runs
$bulky{$_} = 1 foreach qw(reuse bigrows cluster);
my @tests = grep { !$bulky{$_} }
  map { basename($_, '.sql') } sort glob "$top/test/sql/*.sql";

# no autovacuum: beside inserts VACUUM of a hash index logs the image of a bucket page that
# it does not hold locked (hashbucketcleanup), which then differs
# All but gist: replay of its Delete sets F_TUPLES_DELETED (gistRedoDeleteRecord), where what is
# replayed does not (gistprunepage), so its pages differ as soon as a scan has found dead entries.
# A name not known before libraries are loaded makes the server read the setting again later.
my $checked = 'heap, heap2, btree, hash, gin, spgist, brin, sequence, generic, zheap';
my $primary = new_server('primary', [
		"wal_consistency_checking = '$checked'", 'wal_compression = on', 'shared_buffers = 32MB', 'autovacuum = off',
		'max_wal_size = 1GB', 'checkpoint_timeout = 1h', 'max_prepared_transactions = 10' ],
	allows_streaming => 1);
my $standby = new_standby($primary, 'standby', 'max_standby_streaming_delay = 600s', 'hot_standby_feedback = on');

is($primary->safe_psql('postgres', "select setting ~ 'zheap' from pg_settings where name = 'wal_consistency_checking'"), 't', 'our records are checked');

sub replayed
{
	my ($what) = @_;

	caught_up($primary, $standby);
	unlike(slurp_file($standby->logfile), qr/inconsistent page found|PANIC/,
		"$what: no page differs");
	return;
}

# pgbench with savepoints and rollbacks
pgbench_init($primary, 1);
my $scripts = PostgreSQL::Test::Utils::tempdir();
append_to_file("$scripts/mixed.sql", <<'SQL');
\set aid random(1, 100000)
\set delta random(-5000, 5000)
begin;
update pgbench_accounts set abalance = abalance + 1, filler = repeat('x', abs(:delta) % 84) where aid between :aid and :aid + 5;
savepoint s;
delete from pgbench_accounts where aid = :aid;
update pgbench_branches set bbalance = 0;
rollback to s;
insert into pgbench_history (tid, bid, aid, delta) select 1, 1, g, 1 from generate_series(1, 20) g;
rollback;
SQL
append_to_file("$scripts/keys.sql", <<'SQL');
\set aid random(1, 100000)
update pgbench_accounts set aid = -aid where aid = :aid;
update pgbench_accounts set aid = -aid where aid = -:aid;
SQL
my ($rc, $out, $err) = pgbench_run($primary, '-c', 8, '-j', 2, '-t', short() ? 50 : 200,
	'-b', 'tpcb-like@6', '-f', "$scripts/mixed.sql\@3", '-f', "$scripts/keys.sql\@2");
is($rc, 0, 'pgbench');
sums_agree($primary, 'primary');
wait_undone($primary, 'what was rolled back is rolled back');
$primary->safe_psql('postgres', 'delete from pgbench_accounts where aid % 10 = 0; vacuum; insert into pgbench_accounts select g, 1, 0, null from generate_series(10, 100000, 10) g');
replayed('pgbench');

sub feedback
{
	my ($setting) = @_;

	$standby->append_conf('postgresql.conf', "hot_standby_feedback = $setting");
	$standby->reload;
	return;
}

# The regression suite.  Since 17 the server stamps materialized views with a transaction, which VACUUM moves on as far as
# the snapshots that are told of by the standby let it.
feedback('off');
ok($primary->poll_query_until('postgres', 'select count(*) = 0 from pg_stat_replication where backend_xmin is not null'),
	'the standby holds back nothing');
my $results = PostgreSQL::Test::Utils::tempdir();
symlink($expected, "$results/expected");
my $inputdir = "$top/test";
$rc = system($ENV{PG_REGRESS}, "--inputdir=$inputdir", "--outputdir=$results", '--bindir=',
	'--dbname=regress_zheap', '--load-extension=zheap', '--host=' . $primary->host, '--port=' . $primary->port, @tests);
is($rc, 0, 'the regression suite passes');
if ($rc)
{
	my $diffs = "$results/regression.diffs";
	diag(substr(slurp_file($diffs), 0, 10000)) if -e $diffs;
}
replayed('regression suite');
feedback('on');

# many rows by COPY, wide rows, aborted and prepared ones stay for the comparison
$primary->safe_psql('postgres', <<'SQL');
create table last (id int primary key, v text, w text) using zheap;
create index on last (v);
insert into last select g, 'v' || g, repeat(md5(g::text), g % 80) from generate_series(1, 2000) g;
begin; update last set v = 'gone'; rollback;
begin; insert into last select g, 'gone', 'gone' from generate_series(3000, 4000) g; rollback;
update last set w = repeat('w', id % 3000) where id % 7 = 0;
delete from last where id % 5 = 0;
create table zeros () using zheap;
insert into zeros select from generate_series(1, 700);
begin; update last set w = 'prepared' where id < 100; prepare transaction 'pending';
SQL
replayed('tables for comparison');
foreach my $table (qw(last zeros pgbench_accounts pgbench_tellers pgbench_branches pgbench_history))
{
	is(table_digest($standby, $table), table_digest($primary, $table), "$table is the same on the standby");
}
$primary->safe_psql('postgres', "rollback prepared 'pending'");
wait_undone($primary, 'the prepared transaction is rolled back');
$primary->safe_psql('postgres', 'vacuum last');
replayed('at the end');
is(table_digest($standby, 'last'), table_digest($primary, 'last'), 'the same after that');

# the same in recovery after a crash
$primary->safe_psql('postgres', "checkpoint; update last set w = w || 'x'; begin; update last set w = ''; rollback;");
my $before = table_digest($primary, 'last');
crash($primary);
start_again($primary);
is(table_digest($primary, 'last'), $before, 'the same after crash recovery');
unlike(slurp_file($primary->logfile), qr/inconsistent page found/, 'no page differs in crash recovery');
replayed('after the crash');
is(table_digest($standby, 'last'), $before, 'and on the standby');

$standby->stop;
$primary->stop;
no_crash_in_log($primary, 'primary');
no_crash_in_log($standby, 'standby');
done_testing();
