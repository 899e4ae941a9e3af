# Rows with several keys, and commands about their table and indexes in random order: every snapshot sees what it saw, the newest
# what a heap table has that went through the same, by whichever index.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $rows = 300;
my $steps = $ENV{ZHEAP_DDL_STEPS} // (short() ? 60 : 150);		# the long form has thousands

seed();
my $node = new_server('ddl', ['shared_buffers = 32MB', 'autovacuum = off', 'zheap.max_changed_indexes = 100', 'zheap.skip_dead_entries = on']);

$node->safe_psql('postgres', 'create extension amcheck');
foreach my $am (qw(zheap heap))
{
	$node->safe_psql('postgres', <<"SQL");
create table $am (id int, k int, s text, pad text) using $am;
insert into $am select g, g, 's' || g % 50, repeat('x', 40) from generate_series(1, $rows) g;
create unique index ${am}_id on $am (id);
create index ${am}_k on $am (k);
create index ${am}_s on $am (s desc, k);
SQL
}

# ---- what is compared ----

# All rows, by way of each index that is there, or of none.  Text has no two rows alike.
my $digest = 'select count(*), md5(string_agg(row_text, \',\' order by row_text)) from (select id || \' \' || coalesce(k::text, \'-\') || \' \' || coalesce(s, \'-\') as row_text';
my %ways = (
	table => [ 'enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan' ],
	index => [ 'enable_seqscan', 'enable_bitmapscan' ],
	bitmap => [ 'enable_seqscan', 'enable_indexscan', 'enable_indexonlyscan' ]);
my %wheres = (
	id => 'where id > -100000 order by id',
	k => 'where k > -100000 or k is null order by k',
	k2 => 'where k > -100000 order by k',
	s => 'where s >= \'\' order by s desc, k',
	back => 'where k > -100000 order by k desc');

sub look
{
	my ($session, $table, $way, $where) = @_;

	return $session->query_safe("savepoint look; set local enable_sort = on; "
		  . join('', map { "set local $_ = off; " } @{ $ways{$way} })
		  . "$digest from $table $wheres{$where}) x; rollback to look");
}

sub newest
{
	my ($session, $table, $way, $where) = @_;

	$session->query_safe('begin');
	my $result = look($session, $table, $way, $where);
	$session->query_safe('commit');
	return $result;
}

# ---- sessions ----

my $checker = $node->background_psql('postgres');
my $writer = $node->background_psql('postgres');
$_->query_safe('set client_min_messages = error') foreach $checker, $writer;
my @snapshots;		# [session, what each condition gave]
my @done;			# steps so far, for the log

sub open_snapshot
{
	my $session = $node->background_psql('postgres');
	my %saw;

	# a savepoint's locks end with it, so that the session is in no command's way
	$session->query_safe('begin isolation level repeatable read; select 1');
	$saw{$_} = look($session, 'zheap', 'table', $_) foreach keys %wheres;
	push @snapshots, [ $session, \%saw ];
	return 'a snapshot';
}

sub close_snapshot
{
	my ($gone) = splice(@snapshots, int(rand(@snapshots)), 1);

	$gone->[0]->query_safe('commit');
	$gone->[0]->quit;
	return 'a snapshot less';
}

# On both tables; the names of indexes go by their table's.
sub both
{
	my ($sql) = @_;

	foreach my $am (qw(zheap heap))
	{
		(my $mine = $sql) =~ s/TABLE/$am/g;
		$writer->query_safe($_) foreach split /;;/, $mine;
	}
	return $sql;
}

# ---- steps ----

sub some_rows
{
	my $low = 1 + int(rand($rows));

	return "id between $low and " . ($low + int(rand(40)));
}

# Commands that rewrite the rows, as heap's would do, are not for old snapshots.
my @steps = (
	[ 12, sub { both('update TABLE set k = k + ' . (1 + int(rand(500))) . ' where ' . some_rows()) } ],
	[ 8, sub { both('update TABLE set k = id where ' . some_rows()) } ],
	[ 6, sub { both("update TABLE set s = 's' || (id + " . int(rand(60)) . ') % 50 where ' . some_rows()) } ],
	[ 4, sub { both('update TABLE set k = null where ' . some_rows()) } ],
	[ 4, sub { both('update TABLE set k = -id, s = null where ' . some_rows()) } ],
	[ 5, sub { both('begin; update TABLE set k = k + 7, s = \'gone\' where ' . some_rows() . '; rollback') } ],
	[ 4, sub { both('begin; update TABLE set k = k + 3 where ' . some_rows() . '; savepoint a; update TABLE set k = id where ' . some_rows() . '; rollback to a; update TABLE set k = k - 3 where ' . some_rows() . '; commit') } ],
	[ 4, sub { both('delete from TABLE where ' . some_rows()) } ],
	[ 4, sub { my $low = 1 + int(rand($rows)); both("insert into TABLE select g, g, 's' || g % 50, repeat('x', 40) from generate_series($low, $low + 30) g on conflict do nothing") } ],
	[ 3, sub { both('update TABLE set pad = repeat(\'y\', ' . int(rand(200)) . ') where ' . some_rows()) } ],
	[ 3, sub { both('drop index if exists TABLE_k') } ],
	[ 4, sub { both('create index if not exists TABLE_k on TABLE (k)') } ],
	[ 2, sub { both('drop index if exists TABLE_s') } ],
	[ 4, sub { both('create index if not exists TABLE_s on TABLE (s desc, k)') } ],
	[ 2, sub { both('drop index if exists TABLE_more') } ],
	[ 2, sub { both('create index if not exists TABLE_more on TABLE using ' . (qw(hash gin gist spgist brin))[4 * int(rand(2))] . ' (k)') } ],
	[ 2, sub { both('reindex index TABLE_id') } ],
	[ 3, sub { both('reindex table TABLE') } ],
	[ 2, sub { return @snapshots ? '-' : both('reindex table concurrently TABLE') } ],
	[ 2, sub { return @snapshots ? '-' : both('drop index if exists TABLE_k;;create index concurrently TABLE_k on TABLE (k)') } ],
	[ 5, sub { both('vacuum (index_cleanup on) TABLE') } ],
	[ 2, sub { both('vacuum full TABLE') } ],
	[ 2, sub { both('cluster TABLE using TABLE_id') } ],
	[ 2, sub { both('analyze TABLE') } ],
	[ 2, sub { return @snapshots ? '-' : both('alter table TABLE alter column k type bigint') } ],
	[ 2, sub { return @snapshots ? '-' : both('alter table TABLE alter column k type int') } ],
	[ 2, sub { both('alter table TABLE add column if not exists extra int default 5') } ],
	[ 2, sub { both('alter table TABLE drop column if exists extra') } ],
	[ 2, sub { my $share = (0, 50, 100)[ int(rand(3)) ]; $writer->query_safe("set zheap.max_changed_indexes = $share"); "max_changed_indexes $share" } ],
	[ 5, sub { return @snapshots < 4 ? open_snapshot() : close_snapshot() } ],
	[ 3, sub { return @snapshots ? close_snapshot() : '-' } ]);
my $weights = 0;
$weights += $_->[0] foreach @steps;

sub step
{
	my $at = rand($weights);

	foreach my $step (@steps)
	{
		$at -= $step->[0];
		return $step->[1]->() if $at < 0;
	}
	die;
}

# ---- the run ----

my @wrong;
for (my $i = 0; $i < $steps && !@wrong; $i++)
{
	my $where = (sort keys %wheres)[ int(rand(keys %wheres)) ];
	my $right;

	push @done, step();
	$right = newest($checker, 'heap', 'table', $where);
	foreach my $way (sort keys %ways)
	{
		my $got = newest($checker, 'zheap', $way, $where);

		push @wrong, "newest, $where by $way: $got, not $right" unless $got eq $right;
		foreach my $snapshot (@snapshots)
		{
			$got = look($snapshot->[0], 'zheap', $way, $where);
			push @wrong, "a snapshot, $where by $way: $got, not $snapshot->[1]{$where}"
			  unless $got eq $snapshot->[1]{$where};
		}
	}
}
is_deeply(\@wrong, [], 'each snapshot sees its rows after ' . @done . ' steps') or diag(join("\n", @done));
close_snapshot() while @snapshots;
is($node->safe_psql('postgres', 'select count(bt_index_check(indexrelid, true)) > 0 from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam where indrelid = \'zheap\'::regclass and amname = \'btree\''),
	't', 'the indexes are sound');
$node->safe_psql('postgres', 'vacuum (index_cleanup on) zheap');
is(newest($checker, 'zheap', 'index', 'id'), newest($checker, 'heap', 'table', 'id'), 'after VACUUM');

$_->quit foreach $checker, $writer;
$node->stop;
done_testing();
