# Rows that decoding could stumble over: wider as heap tuples than a page, with long old versions, toasted over several pages of a COPY,
# changed by others while a deletion reads toasted values; of a type that changes while a slot is advanced.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('rows', [ 'wal_consistency_checking = zheap', 'logical_decoding_work_mem = 64kB', 'max_wal_size = 2GB' ], allows_streaming => 'logical');

$node->safe_psql('postgres', "select pg_create_logical_replication_slot('slot', 'test_decoding')");

sub decoded
{
	return $node->safe_psql('postgres',
		"select data from pg_logical_slot_get_changes('slot', null, null, 'include-xids', '0', 'skip-empty-xacts', '1')");
}

# ---- wide: 700 pairs of 2 and 8 bytes; heap would align each of the latter ----

my $columns = join(', ', map { ("s$_ int2", "d$_ float8") } 1 .. 700);
my $values = join(', ', map { ("$_", "$_.5") } 1 .. 700);
my $updated = join(' ', map { "s${_}\[smallint]:$_ d${_}\[double precision]:$_.5" } 1 .. 699) . ' s700[smallint]:0 d700[double precision]:700.5';
$node->safe_psql('postgres', <<"SQL");
create table wide (id int primary key, $columns) using zheap;
alter table wide replica identity full;
insert into wide values (1, $values);
update wide set s700 = 0;
delete from wide;
SQL
my $out = decoded();
(my $inserted = $updated) =~ s/s700\[smallint]:0/s700[smallint]:700/;
like($out, qr/^table public\.wide: INSERT: id\[integer\]:1 \Q$inserted\E$/m, 'a wide row is inserted');
like($out, qr/^table public\.wide: UPDATE: old-key: id\[integer\]:1 \Q$inserted\E new-tuple: id\[integer\]:1 \Q$updated\E$/m, '... updated');
like($out, qr/^table public\.wide: DELETE: id\[integer\]:1 \Q$updated\E$/m, '... deleted');

# ---- long: the old version's toasted values, in full ----

$node->safe_psql('postgres', <<'SQL');
create table long (id int primary key, n int, v text) using zheap;
alter table long alter v set storage external;
alter table long replica identity full;
insert into long values (1, 0, repeat('x', 5000000) || 'end');
update long set n = 1;
delete from long;
SQL
$out = decoded();
my $long = 'x' x 5000000 . 'end';
ok(index($out, "UPDATE: old-key: id[integer]:1 n[integer]:0 v[text]:'$long' new-tuple: id[integer]:1 n[integer]:1 v[text]:unchanged-toast-datum") > 0,
	'update of a row of 5 MB');
ok(index($out, "DELETE: id[integer]:1 n[integer]:1 v[text]:'$long'") > 0, 'deletion of it');

# ---- a batch of toasted rows, on several pages ----

$node->safe_psql('postgres', 'create table batch (id int primary key, pad text, v text) using zheap; alter table batch alter v set storage external; alter table batch alter pad set storage plain');
$node->safe_psql('postgres', "copy batch from stdin;\n" . join('', map { "$_\t" . 'p' x 1500 . "\t" . "$_ " x 1500 . "\n" } 1 .. 60) . "\\.\n");
$out = decoded();
my @missing = grep { index($out, "INSERT: id[integer]:$_ pad[text]:'" . 'p' x 1500 . "' v[text]:'" . "$_ " x 1500 . "'") < 0 } 1 .. 60;
is("@missing", '', 'all values of a batch of 60 rows are there');

# ---- a deletion waits, and finds another version ----

$node->safe_psql('postgres', <<'SQL');
create table two (id int primary key, v text) using zheap;
alter table two alter v set storage external;
alter table two replica identity full;
insert into two values (1, repeat('a', 5000)), (2, repeat('a', 5000));
SQL
decoded();
my $first = $node->background_psql('postgres');
my $second = $node->background_psql('postgres');
$first->query_safe('begin');
$first->query_safe("update two set v = repeat('b', 5000) where id = 1");
$second->query_until(qr/begun/, "\\echo begun\ndelete from two where id = 1;\n");
$node->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity where wait_event_type = 'Lock'") or die;
$first->query_safe('commit');
$second->quit;
$first->quit;
$out = decoded();
like($out, qr/DELETE: id\[integer\]:1 v\[text\]:'b{5000}'/, 'it tells of the newest');
unlike($out, qr/DELETE:.*a{5000}/, 'and of no other');

# many sessions update and delete the same rows: each version is told of once, as it was
my $load = $node->basedir . '/two.sql';
append_to_file($load, <<'SQL');
\set id random(1, 5)
\set n random(1, 1000000)
insert into two values (:id, repeat(:n || ' ', 500)) on conflict (id) do update set v = repeat(:n || ' ', 500);
delete from two where id = :id;
update two set v = v || 'more' where id = :id % 5 + 1;
SQL
my ($rc, undef, $err) = pgbench_run($node, '-c', 8, '-t', short() ? 50 : 200, '-f', $load);
is($rc, 0, 'sessions') or diag($err);
my %now = (2 => 'a' x 5000);
my $wrong = 0;
my $seen = 0;
foreach my $line (split /\n/, decoded())
{
	my $value = qr/'([^']*)'/;

	if ($line =~ /INSERT: id\[integer\]:(\d+) v\[text\]:$value/)
	{
		$wrong++ if defined $now{$1};
		$now{$1} = $2;
	}
	elsif ($line =~ /UPDATE: old-key: id\[integer\]:(\d+) v\[text\]:$value new-tuple: id\[integer\]:\1 v\[text\]:$value/)
	{
		$wrong++ unless defined $now{$1} && $now{$1} eq $2;
		$now{$1} = $3;
	}
	elsif ($line =~ /DELETE: id\[integer\]:(\d+) v\[text\]:$value/)
	{
		$wrong++ unless defined $now{$1} && $now{$1} eq $2;
		delete $now{$1};
	}
	elsif ($line =~ /^table/)
	{
		$wrong++;
	}
	$seen++;
}
is($wrong, 0, "each change goes on from the one before ($seen lines)");
is($node->safe_psql('postgres', "select string_agg(id || '=' || v, ',' order by id) from two"), join(',', map { "$_=$now{$_}" } sort keys %now),
	'and leads to what there is');

# ---- an inserted row's values are in its record once, also beside an image of the page ----

$node->safe_psql('postgres', <<'SQL');
create extension pg_walinspect;
create table once (a int2, b int8, v text, c int4) using zheap;
create table once_heap (a int2, b int8, v text, c int4) using heap;
insert into once values (0, 0, null, null);
insert into once_heap values (0, 0, null, null);
checkpoint;
SQL
decoded();
my $row = "(1, 2, repeat('x', 1000), 3), (4, null, repeat('y', 1000), 0)";
my $told = join("\n", map { my ($k, @values) = @$_; "table public.once: INSERT: a[smallint]:$k b[bigint]:$values[0] v[text]:'$values[1]' c[integer]:$values[2]" }
	  [ 1, 2, 'x' x 1000, 3 ], [ 4, 'null', 'y' x 1000, 0 ]);
my %bytes;
foreach my $what ('with an image of the page', 'without')
{
	foreach my $table ('once', 'once_heap')
	{
		my $from = $node->safe_psql('postgres', 'select pg_current_wal_insert_lsn()');

		$node->safe_psql('postgres', "set wal_consistency_checking = ''; insert into $table values $row");
		$bytes{$table} = $node->safe_psql('postgres',
			"select sum(record_length) from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn()) where resource_manager in ('zheap', 'Heap') and record_type like 'INSERT%'");
	}
	my $out = decoded();
	like($out, qr/^\Q$told\E$/m, "rows inserted $what");
	(my $heap = $told) =~ s/once/once_heap/g;
	like($out, qr/^\Q$heap\E$/m, "... and on heap");
}
cmp_ok($bytes{once}, '<', $bytes{once_heap} + 200, "WAL of two rows of a thousand bytes ($bytes{once}, on heap $bytes{once_heap})");

# ---- a slot that is only advanced keeps the catalogs that a transaction in progress needs ----

$node->safe_psql('postgres', 'create type basket as (apples int, pears int, mangos int); create table harvest (fruits basket) using zheap');
decoded();
my ($alters, $inserts) = map { $node->background_psql('postgres') } 1 .. 2;
$alters->query_safe('begin; select pg_current_xact_id()');
$inserts->query_safe('begin; insert into harvest values ((1, 2, 3))');
$alters->query_safe('alter type basket drop attribute mangos; commit');
# the second time, as a record of running transactions may come before that of the checkpoint
$node->safe_psql('postgres', "checkpoint; select pg_replication_slot_advance('slot', pg_current_wal_lsn())") foreach 1 .. 2;
$inserts->query_safe('commit');
$node->safe_psql('postgres', 'vacuum pg_attribute');
like(decoded(), qr/^table public\.harvest: INSERT: fruits\[basket\]:'\(1,2,3\)'$/m, 'a row of a type as it was');
$_->quit foreach $alters, $inserts;
no_crash_in_log($node, $node->name);
done_testing();
