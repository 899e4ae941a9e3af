# Publications of zheap tables and subscriptions of them, in all pairs with heap tables: initial copy, load with savepoints and
# rollbacks, row filters, column lists, replica identities, FOR ALL TABLES, a crash of each server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $turns = short() ? 100 : 500;
my @conf = ('max_prepared_transactions = 10', 'wal_consistency_checking = zheap', 'logical_decoding_work_mem = 64kB', 'zheap.undo_worker_naptime = 10ms',
	'wal_retrieve_retry_interval = 100ms', 'max_logical_replication_workers = 20', 'max_worker_processes = 40', 'max_sync_workers_per_subscription = 4');
my $from = new_server('from', \@conf, allows_streaming => 'logical');
my $to = new_server('to', \@conf, allows_streaming => 'logical');

# Tables are called by the access methods of publisher and subscriber; a prefix tells what they are for.
my @pairs = ([ 'zheap', 'zheap' ], [ 'zheap', 'heap' ], [ 'heap', 'zheap' ]);
my @kinds = qw(plain whole filtered narrow parted);

sub names { return map { my $kind = $_; map { "${kind}_$_->[0]_$_->[1]" } @pairs } @kinds; }

foreach my $pair (@pairs)
{
	foreach my $side (0, 1)
	{
		my ($node, $am) = ($side ? $to : $from, $pair->[$side]);
		my $name = "$pair->[0]_$pair->[1]";
		my $columns = 'id int primary key, n int not null default 0, note text, long text';

		$node->safe_psql('postgres', <<"SQL");
set default_table_access_method = $am;
create table plain_$name ($columns);
create index on plain_$name (n);
create table whole_$name ($columns);
alter table whole_$name replica identity full;
create table filtered_$name (id int, n int not null default 0, note text, long text, primary key (id, n));
create table narrow_$name ($columns);
create table parted_$name (id int, n int not null default 0, note text, long text, primary key (id, n)) partition by range (n);
create table parted_${name}_low partition of parted_$name for values from (minvalue) to (0);
create table parted_${name}_high partition of parted_$name for values from (0) to (maxvalue);
SQL
	}
	my $name = "$pair->[0]_$pair->[1]";
	$from->safe_psql('postgres', <<"SQL");
alter table plain_$name alter long set storage external;
create publication p_$name for table plain_$name, whole_$name, filtered_$name where (n >= 0), narrow_$name (id, note), parted_$name
	with (publish_via_partition_root = true);
SQL
	$from->safe_psql('postgres', "insert into ${_}_$name select g, g % 21 - 10, 'before', repeat(md5(g::text), 100) from generate_series(1, 500) g; "
		. "update ${_}_$name set note = 'changed' where id % 7 = 0; delete from ${_}_$name where id % 11 = 0") foreach @kinds;
}

# ---- load ----

my $load = $from->basedir . '/load.sql';
my $sql = "\\set id random(1, 1000)\n\\set n random(-10, 10)\n\\set size random(1, 200)\n";
foreach my $name (names())
{
	my $conflict = $name =~ /^(?:filtered|parted)/ ? 'id, n' : 'id';

	$sql .= <<"SQL";
begin;
insert into $name values (:id, :n, 'inserted', repeat('x', 20 * :size)) on conflict ($conflict) do update set note = 'conflict', n = excluded.n;
savepoint a;
update $name set note = 'updated ' || :n where id between :id and :id + 5;
savepoint b;
delete from $name where id between :id + 10 and :id + 12;
update $name set n = n + 1000 where id = :id + 20 and n = (select max(n) from $name where id = :id + 20);
rollback to b;
update $name set long = repeat(md5(random()::text), :size) where id = :id + 30;
update $name set note = repeat('n', :size) where id = :id + 40;
update $name set n = n + 1000 where id = :id + 45 and n = (select max(n) from $name where id = :id + 45);
update $name set id = -id where id = :id + 50 and not exists (select from $name where id = -:id - 50);
release a;
delete from $name where id = :id + 60;
commit;
begin; update $name set note = 'gone' where id between :id and :id + 9; insert into $name values (100000 + :id, 1); rollback;
SQL
}
append_to_file($load, $sql);

sub load
{
	my ($what) = @_;
	# one after the other, as two sessions could be in each other's way
	my ($rc, undef, $err) = pgbench_run($from, '-c', 1, '-t', $turns / 10, '-f', $load);

	is($rc, 0, "$what: load") or diag($err);
	return;
}

my %conditions = (filtered => 'where n >= 0');
my %columns = (narrow => 'id, note');

sub same
{
	my ($what) = @_;

	foreach my $pair (@pairs)
	{
		$from->wait_for_catchup("s_$pair->[0]_$pair->[1]");
	}
	foreach my $name (names())
	{
		my ($kind) = $name =~ /^([a-z]+)/;
		my $list = $columns{$kind} // 'id, n, note, long';
		my $query = "select count(*), md5(string_agg(row::text, ',' order by row)) from (select ($list)::text as row from $name "
		  . ($conditions{$kind} // '') . ') s';

		is($to->safe_psql('postgres', $query), $from->safe_psql('postgres', $query), "$what: $name");
	}
	return;
}

my $connection = $from->connstr . ' dbname=postgres';
my %options = (zheap_zheap => 'streaming = true, two_phase = true', zheap_heap => 'binary = true', heap_zheap => 'streaming = true');
foreach my $pair (@pairs)
{
	my $name = "$pair->[0]_$pair->[1]";

	$to->safe_psql('postgres', "create subscription s_$name connection '$connection' publication p_$name with ($options{$name})");
	$to->wait_for_subscription_sync($from, "s_$name");
}
same('initial copy');
load('first');
same('load');

# a large transaction is streamed, and one that is prepared is applied at once; then both are rolled back
$from->safe_psql('postgres', <<'SQL');
begin;
insert into plain_zheap_zheap select g, g, 'many', repeat('m', 3000) from generate_series(10001, 12000) g;
savepoint a;
update plain_zheap_zheap set note = 'more' where id > 10000;
rollback to a;
delete from plain_zheap_zheap where id > 11000;
commit;
begin;
insert into whole_zheap_zheap select g, g, 'none', repeat('m', 3000) from generate_series(10001, 12000) g;
rollback;
begin;
update whole_zheap_zheap set note = 'prepared' where id < 100;
update plain_zheap_zheap set long = null, note = 'prepared' where id < 100;
prepare transaction 'p1';
begin;
insert into whole_zheap_zheap values (20000, 1, 'not');
prepare transaction 'p2';
SQL
$from->wait_for_catchup('s_zheap_zheap');
is($to->safe_psql('postgres', 'select count(*) from pg_prepared_xacts'), 2, 'transactions are prepared on the subscriber');
$from->safe_psql('postgres', $_) foreach ("commit prepared 'p1'", "rollback prepared 'p2'");
same('large and prepared transactions');

# a slot without streaming spills to disk
$from->safe_psql('postgres', <<'SQL');
begin;
insert into plain_zheap_heap select g, g, 'many', repeat('m', 3000) from generate_series(10001, 12000) g;
update plain_zheap_heap set note = 'more' where id > 11000;
commit;
SQL
same('a transaction that is spilled');
$from->safe_psql('postgres', "select pg_stat_force_next_flush()");
cmp_ok($from->safe_psql('postgres', "select spill_txns from pg_stat_replication_slots where slot_name = 's_zheap_heap'"), '>', 0, 'it was');

crash($from);
start_again($from);
load('after a crash of the publisher');
crash($to);
start_again($to);
load('after a crash of the subscriber');
same('after crashes');
$from->safe_psql('postgres', "vacuum full $_; update $_ set note = 'rewritten' where id % 5 = 0") foreach grep { !/^parted/ } names();
same('after rewrites');
$from->safe_psql('postgres', "truncate $_; insert into $_ values (1, 1, 'truncated', null)") foreach names();
same('after TRUNCATE');

# ---- all tables ----

$from->safe_psql('postgres', 'create database everything');
$to->safe_psql('postgres', 'create database everything');
foreach my $node ($from, $to)
{
	$node->safe_psql('everything', 'create extension zheap; create table t (id int primary key, v text) using zheap; create table u (id int) using zheap');
}
$from->safe_psql('everything', "insert into t select g, 'v' || g from generate_series(1, 1000) g; create publication everything for all tables");
$to->safe_psql('everything', "create subscription everything connection '" . $from->connstr . " dbname=everything' publication everything");
$to->wait_for_subscription_sync($from, 'everything', 'everything');
ok($to->poll_query_until('everything', "select string_agg(srrelid::regclass || ' ' || srsubstate::text, ', ' order by srrelid::regclass::text) from pg_subscription_rel",
	't r, u r, zheap.undo r'), 'FOR ALL TABLES: all are in sync, the undo relation among them');
$from->safe_psql('everything', "update t set v = 'changed' where id < 100; delete from t where id > 900; insert into u values (1)");
$from->wait_for_catchup('everything');
my $all = "select count(*), md5(string_agg(t::text, ',' order by id)), (select count(*) from u) from t";
is($to->safe_psql('everything', $all), $from->safe_psql('everything', $all), 'FOR ALL TABLES: changes');
$to->safe_psql('everything', 'drop subscription everything');

# a subscriber without the extension
$to->safe_psql('postgres', 'create database without');
$to->safe_psql('without', 'create table t (id int primary key, v text); create table u (id int)');
my $subscribe = "create subscription everything connection '" . $from->connstr . " dbname=everything' publication everything";
my (undef, undef, $error) = $to->psql('without', $subscribe);
like($error, qr/ERROR:  schema "zheap" does not exist/, 'FOR ALL TABLES: a subscriber lacks the undo relation');
$to->safe_psql('without', 'create schema zheap; create table zheap.undo ()');
$to->safe_psql('without', $subscribe);
$to->wait_for_subscription_sync($from, 'everything', 'without');
is($to->safe_psql('without', $all), $from->safe_psql('everything', $all), '... until it has a table of that name');
$to->safe_psql('without', 'drop subscription everything');

# nothing of another database
is($to->safe_psql('postgres', "select count(*) from plain_zheap_zheap"), 1, 'other databases are left alone');
foreach my $pair (@pairs)
{
	$to->safe_psql('postgres', "drop subscription s_$pair->[0]_$pair->[1]");
}
no_crash_in_log($_, $_->name) foreach ($from, $to);
done_testing();
