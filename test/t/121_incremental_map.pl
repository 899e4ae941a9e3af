# Incremental backups and the visibility map: its page goes with each kind of change that takes a mark back or sets one, so that the combined cluster has the
# map of the source, and index-only scans see no row that is gone.  One table for each kind, whose map nothing else changes between the backups.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'incremental backups have come with PostgreSQL 17' if pg_major() < 17;

my $source = new_server('source', [ 'summarize_wal = on', 'autovacuum = off', 'zheap.undo_workers = 0', 'max_prepared_transactions = 2' ], allows_streaming => 1);
my $dir = $source->backup_dir;

# what happens to a table between the backups; its rows have ids from 1 to 2000, and those that 7 divides are away
my %changes = (
	inserted => "insert into T select g, 0, 'i' from generate_series(3001, 3002) g",
	copied => "copy T from program 'seq -f \"%g	0	c\" 3001 3200'",
	in_place => 'update T set n = n + 1 where id = 500',
	keyed => 'update T set id = -id where id = 500',
	moved => "update T set v = repeat('longer', 900) where id = 500",
	deleted => 'delete from T where id between 500 and 510',
	upserted => "insert into T values (500, 1, 'u'), (4000, 1, 'u') on conflict (id) do update set n = 1",
	rolled_back => "begin; delete from T where id between 500 and 510; insert into T select g, 0, 'r' from generate_series(3001, 3300) g; rollback",
	two_phase => "begin; delete from T where id between 500 and 510; prepare transaction 'p'; commit prepared 'p'",
	unlocked => 'begin; select * from T where id = 500 for update; rollback',
	emptied => 'delete from T where id > 1000; select pg_current_xact_id(); vacuum (index_cleanup on) T',
	filled => "truncate T; insert into T select g, 0, 'f' from generate_series(1, 1000) g; select pg_current_xact_id(); vacuum T",
	marked => 'vacuum T',
	untouched => 'select count(*) from T');
my @tables = sort keys %changes;

$source->safe_psql('postgres', 'create extension pg_visibility');
foreach my $table (@tables)
{
	$source->safe_psql('postgres', <<"SQL");
create table $table (id int primary key, n int, v text) using zheap;
insert into $table select g, 0, repeat('v', 100) from generate_series(1, 2000) g;
delete from $table where id % 7 = 0;
SQL
}
# of "marked" a part has the marks only after the first backup
$source->safe_psql('postgres', 'select pg_current_xact_id(); vacuum (index_cleanup on); select pg_current_xact_id(); vacuum');
$source->safe_psql('postgres', 'update marked set n = 1 where id > 1000; select pg_current_xact_id()');

# The map, page by page.
sub map_of
{
	my ($node, $table) = @_;

	return $node->safe_psql('postgres', "select string_agg(blkno || case when all_visible then 'v' else '-' end || case when all_frozen then 'f' else '-' end, ' ' order by blkno) from pg_visibility_map('$table')");
}

# The rows as an index-only scan and as a scan of the table see them.
sub rows_of
{
	my ($node, $table, $setting) = @_;

	return $node->safe_psql('postgres', "set max_parallel_workers_per_gather = 0; set enable_bitmapscan = off; set $setting = off; select count(*), sum(id), min(id), max(id) from $table");
}

sub backup
{
	my ($name, @options) = @_;

	$source->command_ok([ 'pg_basebackup', '-D', "$dir/$name", '--no-sync', '-c', 'fast', '-h', $source->host, '-p', $source->port, @options ], "backup $name");
	return;
}

my %before = map { $_ => map_of($source, $_) } @tables;
unlike($before{$_}, qr/-/, "$_: all pages are marked") foreach grep { $_ ne 'marked' } @tables;
like($before{marked}, qr/-/, 'marked: not all are');
backup('full');
foreach my $table (@tables)
{
	$source->safe_psql('postgres', $changes{$table} =~ s/\bT\b/$table/gr);
}
my %after = map { $_ => map_of($source, $_) } @tables;
my %rows = map { $_ => rows_of($source, $_, 'enable_indexscan') } @tables;
is($after{$_}, $before{$_}, "$_: the map has not changed") foreach grep { /^un/ } @tables;
isnt($after{$_}, $before{$_}, "$_: the map has changed") foreach grep { !/^un/ } @tables;
backup('incremental', '--incremental', "$dir/full/backup_manifest");

my $node = PostgreSQL::Test::Cluster->new('combined');
$node->init_from_backup($source, 'incremental', combine_with_prior => ['full']);
$node->start;
foreach my $table (@tables)
{
	is(map_of($node, $table), $after{$table}, "$table: the map");
	is(rows_of($node, $table, 'enable_indexscan'), $rows{$table}, "$table: the rows");
	is(rows_of($node, $table, 'enable_seqscan'), $rows{$table}, "$table: the rows of an index-only scan");
}
is($node->safe_psql('postgres', "set enable_seqscan = off; explain (costs off) select count(*) from deleted") =~ /Index Only Scan/ ? 1 : 0, 1, 'which it is');
is($node->safe_psql('postgres', 'select * from zheap.zheap_verify_all()'), '', 'zheap_verify finds nothing');
$_->stop foreach $node, $source;
no_crash_in_log($_, $_->name) foreach $node, $source;
done_testing();
