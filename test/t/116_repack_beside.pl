# REPACK (CONCURRENTLY) of a heap table decodes what others change meanwhile, and applies the changes of that table to its new file: those of zheap tables are none
# of them, also where the columns are alike and a transaction changes both.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan skip_all => 'REPACK has come with PostgreSQL 19' if pg_major() < 19;

foreach my $level (qw(replica logical))
{
	my $node = new_server("level_$level", [ 'autovacuum = off', "wal_level = $level", 'max_replication_slots = 4' ], allows_streaming => 1);
	my $columns = '(id int primary key, n int, t text)';

	$node->safe_psql('postgres', <<"SQL");
create table h $columns using heap;
create table z $columns using zheap;
create table other $columns using zheap;
insert into h select g, 0, repeat('h', 50) from generate_series(1, 1000) g;
insert into z select g, 0, repeat('z', 50) from generate_series(1, 1000) g;
insert into other select g, 0, repeat('o', 50) from generate_series(2001, 3000) g;
delete from h where id % 2 = 0;
SQL
	my $file = $node->safe_psql('postgres', "select pg_relation_filenode('h')");
	my $size = $node->safe_psql('postgres', "select pg_relation_size('h')");

	# its lock makes REPACK wait before it exchanges the files
	my $session = session($node);
	my $repack = session($node);

	$session->query_safe('begin; select count(*) from h');
	begin_in($repack, 'repack (concurrently) h');
	ok($node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $repack->{pid}"), "$level: REPACK waits for the reader");
	$session->query_safe(<<'SQL');
insert into z select g, 1, repeat('Z', 50) from generate_series(5001, 5100) g;
insert into z select g, 1, string_agg(md5((g * i)::text), '') from generate_series(6001, 6010) g, generate_series(1, 150) i group by g;
update z set n = n + 1 where id <= 500;
update z set t = repeat('longer', 100) where id <= 50;
update z set id = -id where id between 51 and 60;
delete from z where id between 101 and 200;
insert into h select g, 1, repeat('H', 50) from generate_series(7001, 7010) g;
update h set n = n + 1 where id <= 100;
update h set id = -id where id = 999;
delete from h where id between 801 and 900;
SQL
	# another transaction, with rows of the same keys; and one that is rolled back
	$node->safe_psql('postgres', <<'SQL');
update other set n = n + 1;
insert into other select g, 2, 'o' from generate_series(1, 20) g;
delete from other where id % 3 = 0;
begin; update other set n = 100; insert into other select g, 3, 'o' from generate_series(8001, 8100) g; rollback;
SQL
	my $sums = 'select count(*), sum(id), sum(n), sum(length(t)), md5(string_agg(t, $$ $$ order by id)) from';
	my %expected = map { $_ => answer_in($session, "$sums $_") } qw(h z other);

	$session->query_safe('commit');
	ok(wait_until(sub { ended($repack) }), "$level: REPACK ends");
	is($repack->{answer}, '', "$level: without an error");
	isnt($node->safe_psql('postgres', "select pg_relation_filenode('h')"), $file, "$level: the table has another file");
	cmp_ok($node->safe_psql('postgres', "select pg_relation_size('h')"), '<', $size, "$level: which is smaller");
	is($node->safe_psql('postgres', "$sums $_"), $expected{$_}, "$level: the rows of $_") foreach qw(h z other);
	is($node->safe_psql('postgres', 'select id, n from h where id < 1 or id > 7000 order by id limit 3'), "-999|0\n7001|1\n7002|1", "$level: with the changes that were its own");
	is($node->safe_psql('postgres', 'select count(*) from pg_replication_slots'), '0', "$level: it leaves no slot");
	is($node->safe_psql('postgres', 'select * from zheap.zheap_verify_all()'), '', "$level: zheap_verify finds nothing");

	# of a zheap table it is refused, and nothing is left of the attempt
	my ($code, $out, $err) = $node->psql('postgres', 'repack (concurrently) z');

	like($err, qr/only supported for the "heap" access method/, "$level: of a zheap table it is refused");
	is($node->safe_psql('postgres', "select (select count(*) from pg_replication_slots), (select count(*) from pg_class where relname ~ '^pg_temp')"), '0|0', "$level: nothing is left");
	is($node->safe_psql('postgres', "$sums z"), $expected{z}, "$level: nor changed");
	$_->quit foreach $session, $repack;
	$node->stop;
	no_crash_in_log($node, $level);
}
done_testing();
