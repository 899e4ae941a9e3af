# A database goes to another tablespace, moved or copied, while rows are to be rolled back: its undo names the old files.  Another
# table has such a file's number there by now, as numbers come round.  Rows of both are rolled back, and nothing else.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('moved', [ 'autovacuum = off', 'zheap.undo_workers = 0' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/ts" or die $!;
$node->safe_psql('postgres', "create tablespace ts location '$dir/ts'");

# The next table made in the database, in its former tablespace, gets the file number.
sub again
{
	my ($database, $number, $am) = @_;

	$node->stop;
	command_ok([ 'pg_resetwal', '-o', $number, '-D', $node->data_dir ], "$database: the next OID is an old one");
	$node->start;
	# the table's own OID comes first, so it may be the second that has it, or one after that
	$node->safe_psql($database, <<"SQL");
do \$\$ begin
	for i in 1 .. 40 loop
		execute 'create table again (id int) using $am tablespace pg_default';
		exit when pg_relation_filenode('again') = $number;
		drop table again;
	end loop;
end \$\$;
SQL
	is($node->safe_psql($database, "select pg_relation_filenode('again')"), $number, "$database: a $am table has the number");
	return;
}

foreach my $how ('moved', 'copied')
{
	foreach my $am ('heap', 'zheap')
	{
		my $source = "${how}_$am";
		my $database = $how eq 'moved' ? $source : "${source}_to";

		$node->safe_psql('postgres', "create database $source");
		$node->safe_psql($source, <<'SQL');
create extension zheap;
create table a (id int, v text) using zheap;
-- its file gets a number that is no table's OID
truncate a;
insert into a select g, 'ok' from generate_series(1, 500) g;
begin;
update a set v = 'bad' where id % 2 = 0;
insert into a select g, 'bad' from generate_series(1001, 1200) g;
rollback;
SQL
		my $number = $node->safe_psql($source, "select pg_relation_filenode('a')");
		$node->safe_psql('postgres', $how eq 'moved' ? "alter database $source set tablespace ts" : "create database $database template $source tablespace ts");
		again($database, $number, $am);
		$node->safe_psql($database, 'insert into again select generate_series(1, 1000)');
		if ($am eq 'zheap')
		{
			$node->safe_psql($database, 'begin; update again set id = -1; insert into again select -2 from generate_series(1, 1000); rollback');
		}
		my ($rc, $out, $err) = $node->psql($database, 'vacuum zheap.undo; select pg_current_xact_id(); vacuum zheap.undo; select pg_current_xact_id(); vacuum zheap.undo');
		is($err, '', "$database: vacuum");
		is($node->safe_psql($database, 'select zheap.zheap_undo_pending()'), 0, "$database: nothing is pending");
		is($node->safe_psql($database, "select count(*), count(*) filter (where v <> 'ok') from a"), '500|0', "$database: rows are as before");
		is($node->safe_psql($database, 'select count(*), sum(id) from again'), '1000|500500', "$database: those of the other table, too");
		is($node->safe_psql($database, "select count(*) from zheap.zheap_verify('a')"), 0, "$database: no damage");
		$node->safe_psql('postgres', "drop database $_") foreach $how eq 'moved' ? $source : ($source, $database);
	}
}
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
