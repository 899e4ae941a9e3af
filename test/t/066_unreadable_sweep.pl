# A sweep comes by something that it cannot read, for a moment or for good, while a transaction is in progress that began after it.
# When that transaction is rolled back its rows go, wherever its first record lies.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'gdb is not there, without which the moment cannot be had' unless gdb();

my $BLCKSZ = 8192;
my $node = new_server('unreadable', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.undo_hold_warning = -1', 'max_prepared_transactions = 2' ]);
plan skip_all => 'the functions of test/unit are not installed' unless has_unit($node);
my $undo = one("select pg_relation_filepath('zheap.undo')");

one('create extension zheap_unit');

# Records of a table; pages that have none are passed by.
one(<<'SQL');
create function records_of(about regclass) returns table (block int, at int, xid xid8) language plpgsql as $$
begin
	for b in 32 .. pg_relation_size('zheap.undo') / 8192 - 1 loop
		begin
			return query select b::int, split_part(r.undo, '/', 2)::int, r.xid from zheap.zheap_undo_records(b) r where r.relation = about;
		exception when others then null;
		end;
	end loop;
end $$;
SQL

sub one
{
	return $node->safe_psql('postgres', $_[0]);
}

sub bytes_of
{
	my ($file, $block, $at) = @_;

	one('checkpoint');
	return unpack('H*', read_bytes($node->data_dir . "/$file", $block * $BLCKSZ + $at, 4));
}

# Change four bytes of a page in the buffer pool.  Returns what puts them back.
sub damage
{
	my ($relation, $block, $at) = @_;
	my $before = bytes_of(one("select pg_relation_filepath('$relation')"), $block, $at);
	my $after = unpack('H*', ~pack('H*', $before));

	one("select zheap_unit_damage('$relation', $block, $at, '\\x$after')");
	return sub { one("select zheap_unit_damage('$relation', $block, $at, '\\x$before')") };
}

# Block and offset of the newest undo record of the table, of the oldest of that transaction.
sub record_of
{
	my ($table, $first) = @_;
	my $order = $first ? 'asc' : 'desc';

	return split /\|/, one("select block, at from records_of('$table') order by xid desc, block $order, at $order limit 1");
}

# What cannot be read: from before the sweep comes there until it has ended, or for good.
my %damage = (
	record => sub { damage('zheap.undo', $_[0], $_[1] + 2) },
	page => sub { damage('zheap.undo', $_[0], 12) },
	'table' => sub { damage('a', 0, 12) },
	catalog => sub { damage('pg_class_tblspc_relfilenode_index', 1, $BLCKSZ - 4) },
	none => sub { sub { } });

foreach my $what ('none', 'record', 'page', 'table', 'catalog')
{
	foreach my $for ('for a moment', 'for good')
	{
		next if $for eq 'for good' && $what !~ /record|page/;
		SKIP:
		{
			one('drop table if exists a, b, c, d, e; create table a (id int) using zheap; create table d (id int) using zheap; create table e (id int) using zheap; create table b (id int, v text) using zheap; create table c (id int, v text) using zheap');
			one("insert into b values (1, 'ok'); insert into c select g, 'ok' from generate_series(1, 300) g");
			one('vacuum zheap.undo');
			my ($writer, $vacuum) = map { session($node) } 1 .. 2;
			$writer->query_safe('begin; insert into a values (1); rollback');
			my @aborted = record_of('a');
			# else its page cannot be rolled back, and tells that undo is needed
			one('drop table a') if $what =~ /record|page/;
			my $debugger = gdb_attach($vacuum->{pid}, "break zrollback_try\ncontinue") or skip 'no debugger', 6;
			begin_in($vacuum, 'vacuum zheap.undo');
			ok(gdb_stopped($debugger, $vacuum), "$what $for: a sweep has begun");
			# insertions, which can be rolled back without their records, for more than a page
			$writer->query_safe("begin; insert into b values (2, 'bad'), (3, 'bad')");
			$writer->query_safe('do $$ begin for i in 1 .. 400 loop insert into d values (i); insert into e values (i); end loop; end $$');
			$writer->query_safe("update c set v = 'bad'");
			is((record_of('b', 1))[0], $aborted[0], "$what $for: another transaction begins on the same undo page");
			cmp_ok((record_of('c', 1))[0], '>', $aborted[0], "$what $for: and goes on to another");
			my $repair = $damage{$what}->(@aborted);
			gdb_go($debugger);
			ok(wait_until(sub { ended($vacuum) }), "$what $for: the sweep ends");
			gdb_end($debugger);
			like($vacuum->{answer}, $what eq 'none' ? qr/^$/ : qr/WARNING/, "$what $for: and has told what it met");
			$repair->() if $for eq 'for a moment';
			$writer->query_safe('rollback');
			for (1 .. 3)
			{
				$node->psql('postgres', 'select pg_current_xact_id(); vacuum zheap.undo');
			}
			# what the page said of this transaction's changes is lost: they stay rolled back for readers, and pending
			my $lost = $what eq 'page' && $for eq 'for good';
			is(one('select zheap.zheap_undo_pending() > 0'), $lost ? 't' : 'f', "$what $for: pending is only what cannot be rolled back");
			is(one("select (select string_agg(id || v, ' ') from b), (select count(*) from c where v = 'ok'), (select count(*) from d), (select count(*) from e)"), '1ok|300|0|0', "$what $for: the rows are as before");
			if ($lost)
			{
				one('drop table b, d, e');
				one('vacuum zheap.undo');
				is(one('select zheap.zheap_undo_pending()'), 0, "$what $for: nothing is pending when those tables are gone");
			}
			$_->quit foreach ($writer, $vacuum);
		}
	}
}
# ---- a transaction that is prepared after the sweep has begun, which says how far it has come before it comes by its records ----

SKIP:
{
	one('drop table if exists a, b, c, d, e; create table a (id int) using zheap; create table d (id int) using zheap; create table e (id int) using zheap; create table b (id int, v text) using zheap');
	one("insert into b values (1, 'ok')");
	one('vacuum zheap.undo');
	my ($writer, $vacuum) = map { session($node) } 1 .. 2;
	# more pages by turns than a sweep goes through at a time
	$writer->query_safe('begin; insert into a values (1)');
	$writer->query_safe('do $$ begin for i in 1 .. 5500 loop insert into d values (i); insert into e values (i); end loop; end $$; rollback');
	my $repair = damage('zheap.undo', (record_of('a'))[0], (record_of('a'))[1] + 2);
	one('drop table a');
	my $debugger = gdb_attach($vacuum->{pid}, "break zrollback_try\ncontinue") or skip 'no debugger', 4;
	begin_in($vacuum, 'vacuum zheap.undo');
	ok(gdb_stopped($debugger, $vacuum), 'prepared: a sweep has begun');
	$writer->query_safe("begin; insert into b values (2, 'bad'), (3, 'bad'); prepare transaction 't'");
	gdb_go($debugger);
	ok(wait_until(sub { ended($vacuum) }), 'prepared: the sweep ends');
	gdb_end($debugger);
	$repair->();
	one("rollback prepared 't'");
	for (1 .. 3)
	{
		$node->psql('postgres', 'select pg_current_xact_id(); vacuum zheap.undo');
	}
	is(one('select zheap.zheap_undo_pending()'), 0, 'prepared: nothing is pending any more');
	is(one("select string_agg(id || v, ' ') from b"), '1ok', 'prepared: the rows are as before');
	$_->quit foreach ($writer, $vacuum);
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
