# ALTER TABLE ALL IN TABLESPACE moves zheap tables and the undo relation in any order, while undo is live, workers are at work, and tables have rows to be put
# back; nothing is lost if that is rolled back, also by those who have written before and go on.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('moveall', [ 'autovacuum = off' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/ts" or die $!;
$node->safe_psql('postgres', "create tablespace ts location '$dir/ts'");
my @tables = qw(first second third);
my $abort = 'begin; ' . join(' ', map { "update $_ set n = -1; delete from $_ where id % 7 = 0;" } @tables) . ' rollback';

foreach my $table (@tables)
{
	$node->safe_psql('postgres', "create table $table (id int primary key, n int, f text) using zheap; insert into $table select g, g, repeat('x', 50) from generate_series(1, 5000) g");
}
# the catalog's order is the order in which they are moved: the undo relation before, between and behind
my %before = (
	first => 'select 1',
	middle => 'alter table first set (fillfactor = 99)',
	last => join('; ', map { "alter table $_ set (fillfactor = 98)" } @tables));

sub digests
{
	return join ' ', map { table_digest($node, $_) } @tables;
}

sub place
{
	return $node->safe_psql('postgres', "select string_agg(distinct coalesce(spcname, 'pg_default'), ' ') from pg_class c left join pg_tablespace t on t.oid = c.reltablespace "
		  . "join pg_am a on a.oid = c.relam where amname in ('zheap', 'zheap_undo')");
}

# the snapshot of a session that has no lock on the undo relation
my $old = session($node);
my $snapshot = $old->query_safe("begin isolation level repeatable read; select pg_export_snapshot()");
my $original = digests();
my ($from, $to) = ('pg_default', 'ts');

foreach my $order (sort keys %before)
{
	my $move = "alter table all in tablespace $from set tablespace $to";
	my $expected = digests();

	$node->safe_psql('postgres', "$before{$order}");

	# rolled back: what was written before stays, and nothing can be written after
	foreach my $first ('select 1', 'update first set n = n + 1 where id < 100; insert into second values (-1)')
	{
		foreach my $then ('update third set n = 0', 'insert into first values (-2)', 'select n from second where id = 1 for update', 'delete from second')
		{
			my ($rc, $out, $err) = $node->psql('postgres', "$abort; begin; $first; $move; select count(*) from third; $then; rollback", on_error_stop => 0);

			like($err, qr/^[^\n]*ERROR:  cannot change zheap tables in the transaction that has moved the undo relation[^\n]*\n[^\n]*HINT[^\n]*$/, "$order, $then: refused");
			like($out, qr/^5000$/m, "$order: rows can be read");
			($rc, $out, $err) = $node->psql('postgres', "begin; $first; savepoint s; $move; rollback to s; $then; rollback", on_error_stop => 0);
			is($err, '', "$order, $then: and not after a savepoint's rollback");
		}
		is(place(), $from, "$order: back in the old place");
		is(digests(), $expected, "$order: all rows are as before");
	}

	# a worker is at work, and others have undo there
	$node->safe_psql('postgres', "$abort; update first set n = n + 1; $abort; $move");
	is(place(), $to, "$order: all have been moved");
	$node->safe_psql('postgres', 'update first set n = n - 1');
	is(digests(), $expected, "$order: all rows are as before");
	wait_undone($node, "$order: all is rolled back");
	is(digests(), $expected, "$order: and right");
	$node->safe_psql('postgres', 'begin isolation level repeatable read; ' . "set transaction snapshot '$snapshot'; " . 'select count(*) from first');
	is(join(' ', map { $node->safe_psql('postgres', "begin isolation level repeatable read; set transaction snapshot '$snapshot'; "
				  . "select count(*), coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') from $_ t") } @tables), $original, "$order: the old snapshot sees its rows");
	($from, $to) = ($to, $from);
}
$old->query_safe('commit');
$old->quit;

my $expected = digests();
crash($node);
start_again($node);
is(digests(), $expected, 'the same after a crash');
btrees_agree($node, 'to the end', map { "${_}_pkey" } @tables);
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
