# Writers that remove index entries (zheap.remove_dead_entries) keep what they have noted of a file apart from what they note of another
# one of the table: a transaction that moves the table, prunes pages there and rolls back has pruned nothing; nor has one that then truncates
# the new file, which stays the same file, but with other rows at the same places.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('file', [ 'autovacuum = off', 'allow_in_place_tablespaces = on' ]);

# The first page is full; 205 of its rows are dead, and nobody has noted them.
$node->safe_psql('postgres', "create extension amcheck; create tablespace place location ''");

sub make
{
	$node->safe_psql('postgres', <<'SQL');
drop table if exists moved;
create table moved (id int primary key, pad text) using zheap;
do $$
begin
	for i in 1 .. 1000 loop
		insert into moved values (i, repeat('p', 18));
		exit when pg_relation_size('moved') > 8192;
	end loop;
end $$;
set zheap.remove_dead_entries = off;
delete from moved where id <= 205;
select pg_current_xact_id();
SQL
	# who has deleted so many rows has room for notes
	$_->query_safe('begin; delete from moved where id > 205; rollback') foreach @_;
	return;
}

my ($mover, $other, $third) = map { session($node) } 1 .. 3;
$_->query_safe('set zheap.remove_dead_entries = on') foreach $mover, $other;
$third->query_safe('set zheap.remove_dead_entries = off');

make($mover, $other);
cmp_ok($node->safe_psql('postgres', 'select max(id) from moved'), '>', 225, 'there are enough rows on a page');

# A row gets longer: if the page is full it is pruned.  What came before is past for whoever comes next.
sub longer
{
	my ($session, $id, $length) = @_;

	$session->query_safe("update moved set pad = repeat('p', $length) where id = $id");
	$session->query_safe('select pg_current_xact_id()');
	return;
}

sub fill
{
	my ($first, $n) = @_;

	$third->query_safe("insert into moved select g, repeat('p', 18) from generate_series($first, $first + $n - 1) g");
	$third->query_safe('select pg_current_xact_id()');
	return;
}

sub sound
{
	my ($what) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "select bt_index_check('moved_pkey', true)");
	my $count = 'select count(*), sum(id) from moved where id > 0';

	is($rc, 0, "after $what the index is sound $err");
	is($node->safe_psql('postgres', "set enable_seqscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off; $count"),
		$node->safe_psql('postgres', "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off; $count"),
		'and leads to each row once');
	return;
}

# the mover prunes the page in a file that is gone with the rollback (not by an insertion: the index, which stays where it is, would
# keep an entry for a row that is not there any more, as with heap)
$mover->query_safe('begin; delete from moved where id = 220; alter table moved set tablespace place');
longer($mover, 210, 60);
$mover->query_safe('rollback');
# another one prunes it in truth
longer($other, 211, 60);
# both remove the entries
longer($mover, 212, 2);
longer($other, 213, 2);
# the mover frees line pointers if it thinks that they are its own; other rows get these, and are dead before VACUUM comes
longer($mover, 214, 3);
fill(30000, 600);
$third->query_safe('delete from moved where id >= 30000');
$third->query_safe('select pg_current_xact_id()');
longer($third, 216, 60);
# they are not the other one's any more
longer($other, 215, 4);
# whoever gets a line pointer that an entry names comes up under another key
fill(60000, 900);
sound('a rollback');

# the mover prunes the page, and truncates the file, which it has made itself; other rows come to the same places, with keys on other leaves
make($mover);
$mover->query_safe('begin; delete from moved where id = 220; alter table moved set tablespace place');
longer($mover, 210, 60);
$mover->query_safe('truncate moved');
$mover->query_safe("insert into moved select g, repeat('p', 18) from generate_series(30001, 30230) g");
$mover->query_safe("insert into moved select g, repeat('p', 18) from generate_series(1001, 4000) g");
$mover->query_safe('commit');
# these are dead, and nobody has noted them
$third->query_safe('delete from moved where id between 30001 and 30205');
$third->query_safe('select pg_current_xact_id()');
longer($third, 30216, 60);
# what the mover has noted leads to entries that are not there; then it frees line pointers if it thinks that they are its own
longer($mover, 30217, 2);
longer($mover, 30218, 3);
fill(60000, 900);
sound('a truncation');
$_->quit foreach $mover, $other, $third;
$node->stop;
done_testing();
