# Incremental backups, by WAL summaries, contain every page of tables, undo and visibility maps that has changed: the cluster that pg_combinebackup makes has
# the same rows, zheap_verify() finds nothing, transactions in progress are rolled back, and prepared ones are still there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'incremental backups have come with PostgreSQL 17' if pg_major() < 17;

my @tables = qw(t wide same shrunk emptied rewritten moved late);
my $source = new_server('source', [ 'summarize_wal = on', 'autovacuum = off', 'zheap.undo_workers = 0', 'shared_buffers = 16MB', 'max_wal_size = 4GB' ],
	allows_streaming => 1, extra => ['--data-checksums']);
my $dir = $source->backup_dir;

$source->safe_psql('postgres', <<'SQL');
create extension pg_visibility;
create table t (id int primary key, n int, v text) using zheap;
create index t_n on t (n);
create table wide (id int primary key, v text) using zheap;
create table same (id int, v text) using zheap;
create table shrunk (id int, v text) using zheap;
create table emptied (id int, v text) using zheap;
create table rewritten (id int primary key, v text) using zheap;
create table moved (id int primary key, v text) using zheap;
create table gone (id int) using zheap;
create table late (id int primary key, v text) using zheap;
create table late_too (id int) using zheap;
create unlogged table u (id int primary key) using zheap;
insert into t select g, g, repeat('v', 60) from generate_series(1, 20000) g;
insert into wide select g, (select string_agg(md5((g * i)::text), '') from generate_series(1, 150) i) from generate_series(1, 50) g;
insert into same select g, 's' || g from generate_series(1, 3000) g;
insert into shrunk select g, repeat('s', 100) from generate_series(1, 1000) g;
insert into emptied select g, repeat('e', 100) from generate_series(1, 3000) g;
insert into rewritten select g, 'r' || g from generate_series(1, 3000) g;
insert into moved select g, 'm' || g from generate_series(1, 3000) g;
insert into gone select g from generate_series(1, 100) g;
insert into u select g from generate_series(1, 100) g;
vacuum;
begin; insert into shrunk select g, repeat('gone', 25) from generate_series(1, 5000) g; rollback;
SQL

# The number of pages of t that the visibility map has as all-visible.
sub visible
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "select all_visible from pg_visibility_map_summary('t')");
}

sub pages
{
	return $source->safe_psql('postgres', "select pg_relation_size('$_[0]') / 8192");
}

# No transaction commits while a backup is made: its rows are the current ones.
sub contents
{
	my ($node) = @_;

	return join("\n", map { "$_: " . table_digest($node, $_) } @tables);
}

sub backup
{
	my ($name, @options) = @_;

	$source->command_ok([ 'pg_basebackup', '-D', "$dir/$name", '--no-sync', '-c', 'fast', '-h', $source->host, '-p', $source->port, @options ], "backup $name");
	return contents($source);
}

# How a backup contains a fork of a relation: in part, as a whole, or not at all.
sub kept_as
{
	my ($backup, $path) = @_;
	my ($folder, $file) = $path =~ m{^(.*)/([^/]+)$};

	return 'part' if -e "$dir/$backup/$folder/INCREMENTAL.$file";
	return -e "$dir/$backup/$path" ? 'whole' : 'none';
}

my $path = $source->safe_psql('postgres', "select pg_relation_filepath('t')");
my $undo = $source->safe_psql('postgres', "select pg_relation_filepath('zheap.undo')");
my %expected;
my $open = session($source);
my $all_visible = visible($source);
my $pages = pages('shrunk');

cmp_ok($all_visible, '>', 100, 'the map tells of pages before the first backup');
$open->query_safe("begin; update t set n = -n, v = 'open' where id <= 100; insert into t select g, 0, 'open' from generate_series(30001, 30100) g; delete from wide where id <= 5");
$source->safe_psql('postgres', "begin; update t set v = 'first' where id between 201 and 300; prepare transaction 'first'");
$source->safe_psql('postgres', "begin; update t set n = 0, v = 'pending' where id between 401 and 500; rollback");
backup('full');

# ---- everything changes ----

$open->query_safe("update t set n = n - 1, v = repeat('longer', 20) where id <= 100; delete from t where id between 101 and 150");
$source->safe_psql('postgres', <<'SQL');
commit prepared 'first';
begin; update t set v = 'second' where id between 601 and 700; delete from wide where id = 50; prepare transaction 'second';
begin; update t set n = 7, v = repeat('rolled back', 10) where id between 801 and 5000; insert into t select g, 0, 'gone' from generate_series(40001, 44000) g; delete from wide where id between 10 and 20; rollback;
update t set n = n + 1 where id between 6001 and 6100;
delete from t where id between 7001 and 9000;
insert into t select g, g, 'new' from generate_series(50001, 52000) g;
update wide set v = v || 'x' where id = 30;
truncate emptied;
insert into emptied select g, repeat('again', 20) from generate_series(1, 2000) g;
delete from rewritten where id % 2 = 0;
vacuum full rewritten;
alter table moved alter id type bigint;
drop table gone;
insert into late select g, 'late' from generate_series(1, 500) g;
select pg_current_xact_id();
vacuum zheap.undo;
vacuum (index_cleanup on) t, shrunk, late;
begin; update t set n = 8 where id between 9001 and 9500; insert into late select g, 'gone' from generate_series(1001, 1500) g; rollback;
SQL
isnt(visible($source), $all_visible, 'the map has changed');
cmp_ok(pages('shrunk'), '<', $pages, 'a table has been truncated at its end');
$expected{one} = backup('one', '--incremental', "$dir/full/backup_manifest");
is(kept_as('one', $path), 'part', 'of a table that has changed in part it has a part');
is(kept_as('one', $source->safe_psql('postgres', "select pg_relation_filepath('same')")), 'part', 'of one that has not changed, too');
isnt(kept_as('one', $undo), 'none', 'and undo');
my $map = visible($source);

# ---- little changes ----

$open->query_safe("update t set v = 'last' where id <= 10");
$source->safe_psql('postgres', "update t set n = 1 where id = 15000; update wide set v = 'short' where id = 31; begin; update t set n = 2 where id = 16000; rollback");
$expected{two} = backup('two', '--incremental', "$dir/one/backup_manifest");
is(kept_as('two', $path), 'part', 'the second one has a part of the table');
is(kept_as('two', $undo), 'part', 'and of undo');
cmp_ok(-s "$dir/two/" . ($path =~ s{([^/]+)$}{INCREMENTAL.$1}r), '<', 40 * 8192, 'of few pages');
isnt($expected{two}, $expected{one}, 'there is another state in it');
$open->query_safe('rollback');
$open->quit;

# ---- the combined cluster ----

foreach my $chain ([ 'full', 'one' ], [ 'full', 'one', 'two' ])
{
	my $name = $chain->[-1];
	my $node = PostgreSQL::Test::Cluster->new("restored_$name");

	$node->init_from_backup($source, $name, combine_with_prior => [ @$chain[ 0 .. $#$chain - 1 ] ]);
	$node->start;
	is(contents($node), $expected{$name}, "$name: all rows");
	is(visible($node), $map, "$name: the visibility map") if $name eq 'one';
	is($node->safe_psql('postgres', 'select count(*) from u'), '0', "$name: the unlogged table is empty");
	is($node->safe_psql('postgres', 'select * from zheap.zheap_verify_all()'), '', "$name: zheap_verify finds nothing");
	is($node->safe_psql('postgres', 'select string_agg(gid, \' \') from pg_prepared_xacts'), 'second', "$name: the prepared transaction is there");
	isnt($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', "$name: undo is pending");
	$node->safe_psql('postgres', "commit prepared 'second'");
	is($node->safe_psql('postgres', "select count(*) from t where v = 'second'"), '100', "$name: the prepared transaction is committed");
	my $rows = contents($node);
	set_and_reload($node, 'zheap.undo_workers = 3');
	wait_undone($node, "$name: all is rolled back");
	is(contents($node), $rows, "$name: the same rows after it");
	btrees_agree($node, $name, qw(t_pkey t_n wide_pkey rewritten_pkey moved_pkey late_pkey));
	$node->safe_psql('postgres', 'vacuum (index_cleanup on); vacuum zheap.undo');
	is(contents($node), $rows, "$name: the same rows after VACUUM");
	$node->safe_psql('postgres', "update t set n = n + 1; begin; delete from t; rollback; insert into late_too select g from generate_series(1, 1000) g");
	is($node->safe_psql('postgres', 'select * from zheap.zheap_verify_all()'), '', "$name: nor after changes");
	$node->stop;
	$node->command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$name: checksums");
	no_crash_in_log($node, $name);
}
$source->stop;
no_crash_in_log($source, 'source');
done_testing();
