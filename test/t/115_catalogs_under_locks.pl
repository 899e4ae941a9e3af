# While a page of an index is locked zheap reads no catalog: what VACUUM does to an index, and a unique check, end beside a session that keeps pg_class
# locked, though the server has told the backend just before that what it knows of the undo relation may be old.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('catalogs', [ 'autovacuum = off', 'zheap.undo_workers = 0' ]);

plan skip_all => 'zheap_unit is not installed' unless has_unit($node);

# Two updates of each row, of which the reader sees the first one only: so of three entries one is not needed, and to tell that takes undo.
$node->safe_psql('postgres', <<'SQL');
create extension zheap_unit;
create operator class waits for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 zheap_unit_compare(int, int);
create table keys (id int primary key, k int) using zheap;
create index keys_k on keys (k);
create table twin (id int primary key, k int) using zheap;
create index twin_k on twin (k);
create table uniques (id int) using zheap;
create unique index uniques_id on uniques (id waits);
insert into keys select g, g from generate_series(1, 100) g;
insert into twin table keys;
insert into uniques select id from keys;
update keys set k = k + 5000;
update twin set k = k + 5000;
SQL
my $reader = session($node);
$reader->query_safe('begin isolation level repeatable read; select count(*) from keys');
$node->safe_psql('postgres', <<'SQL');
update keys set k = k + 5000;
update twin set k = k + 5000;
delete from uniques where id = 50;
SQL
my $removed = $node->safe_psql('postgres', "select zheap_unit_sweep_index('twin_k')");
cmp_ok($removed, '>', 0, 'entries that nobody needs');

my $changer = session($node);
my $keeper = session($node);

# The statement comes to the gate; catalogs change, and are locked; it goes on, and ends.
sub ends_beside_lock
{
	my ($sql, $expected, $what) = @_;
	my $runner = session($node);
	my $waits = "select count(*) from pg_stat_activity where pid = $runner->{pid} and wait_event = 'advisory'";

	$keeper->query_safe("select pg_advisory_lock(115); $waits; begin");
	begin_in($runner, $sql);
	wait_until(sub { $keeper->query_safe($waits) == 1 }) or die 'does not come to the gate';
	$changer->query_safe('alter table zheap.undo set (autovacuum_vacuum_threshold = 51); alter table zheap.undo reset (autovacuum_vacuum_threshold)');
	$keeper->query_safe('lock table pg_class; select pg_advisory_unlock(115)');
	ok(wait_until(sub { ended($runner) }), "$what ends");
	$keeper->query_safe('commit');
	ended($runner) until !$runner->{running};
	is($runner->{answer}, $expected, "$what: as it would have been without");
	return;
}

ends_beside_lock("select zheap_unit_sweep_index('keys_k')", $removed, 'a look through the entries of an index');
ends_beside_lock('insert into uniques values (50)', '', 'a unique check');

$node->stop;
done_testing();
