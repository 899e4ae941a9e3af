# A database is dropped and another one gets its OID: nothing that was known of the first one is taken for the second one's.
# On the server itself and on its standby.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $primary = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0' ], allows_streaming => 1);
my $standby = new_standby($primary, 'standby');

# the template has rows of a transaction that aborted
$primary->safe_psql('postgres', 'create database model');
$primary->safe_psql('model', <<'SQL');
create extension zheap;
create table t (id int primary key, v text) using zheap;
insert into t select g, 'old' from generate_series(1, 1000) g;
vacuum zheap.undo;
SQL
$primary->safe_psql('model', "begin; update t set v = 'aborted'; rollback");

my $contents = "select count(*), min(v), max(v) from t";
foreach my $round (1 .. 3)
{
	$primary->safe_psql('postgres', 'create database again oid = 50000 template model');
	caught_up($primary, $standby);
	is($standby->safe_psql('again', $contents), '1000|old|old', "round $round: standby, at first");
	is($primary->safe_psql('again', $contents), '1000|old|old', "round $round: at first");
	$primary->safe_psql('again', "update t set v = 'round $round'; update t set v = v || '!'");
	is($primary->safe_psql('again', $contents), "1000|round $round!|round $round!", "round $round: changed");
	# less each time: what is known is of a longer undo relation
	$primary->safe_psql('again', "update t set v = repeat('x', 1000); update t set v = 'short'") for 1 .. 6 - 2 * $round;
	$primary->safe_psql('again', 'vacuum zheap.undo; select pg_current_xact_id(); vacuum zheap.undo; vacuum zheap.undo');
	caught_up($primary, $standby);
	$standby->safe_psql('again', $contents);
	$primary->safe_psql('postgres', 'drop database again');
}

# index entries of the first one's rows were dead; those of the second one's are not, where the rows are
$primary->safe_psql('postgres', 'create database again oid = 50000 template model');
my $skip = 'set zheap.skip_dead_entries = on; set enable_seqscan = off; set enable_bitmapscan = off;';
my $first = "$skip select id from t where id > 0 order by id limit 1";
my $old = $primary->background_psql('again');
$old->query_safe('begin isolation level repeatable read; select count(*) from t');
$primary->safe_psql('again', 'delete from t where id <= 900');
is($primary->safe_psql('again', $first), 901, "the first row, $_") foreach 1 .. 4;
counts_told($primary, $old);
cmp_ok($primary->safe_psql('again', "select dead_entries_passed from zheap.zheap_stat_tables where relname = 't'"), '>', 0, 'a range is passed by');
$old->quit;
$primary->safe_psql('postgres', 'drop database again');
$primary->safe_psql('postgres', 'create database again oid = 50000 template model');
$old = $primary->background_psql('again');
$old->query_safe('begin isolation level repeatable read; select count(*) from t');
$primary->safe_psql('again', 'delete from t where id <= 40');
is($primary->safe_psql('again', $first), 41, "the second database's first row, $_") foreach 1 .. 2;
$old->quit;

$standby->stop;
$primary->stop;
no_crash_in_log($primary, 'to the end');
done_testing();
