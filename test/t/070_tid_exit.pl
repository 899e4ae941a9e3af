# A session that ends within a query drops its temporary tables in a transaction of its own: that one is no part of the query.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('tid_exit');
my $started = $node->safe_psql('postgres', 'select pg_postmaster_start_time(), pg_conf_load_time()');

$node->safe_psql('postgres', 'create table t (id int primary key, n int) using zheap; insert into t values (1, 0)');

my %query = (
	'a scan' => 'select pg_terminate_backend(pg_backend_pid()), pg_sleep(10) from t',
	'an update' => 'update t set n = 1 from (select pg_terminate_backend(pg_backend_pid()), pg_sleep(10)) x',
	'a trigger' => 'update temp set n = 1',
	'a command in a function' => 'select in_function()');

foreach my $where (sort keys %query)
{
	my $stderr;

	$node->psql('postgres', qq(
		create temp table temp (id int primary key, n int) using zheap;
		insert into temp values (1, 0);
		create function pg_temp.ends() returns trigger language plpgsql as
			\$\$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end \$\$;
		create trigger ends after update on temp for each row execute function pg_temp.ends();
		create or replace function in_function() returns void language plpgsql as \$f\$
		begin
			execute 'do \$d\$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); end \$d\$';
		end \$f\$;
		$query{$where}), stderr => \$stderr);
	like($stderr, qr/terminating connection due to administrator command/, "$where: the session ended");
	$node->poll_query_until('postgres', "select count(*) = 0 from pg_class where relname = 'temp'")
		or BAIL_OUT('the temporary table stays');
	is($node->safe_psql('postgres', 'select pg_postmaster_start_time(), pg_conf_load_time()'), $started, "$where: no restart");
	is($node->safe_psql('postgres', 'select id, n from t'), '1|0', "$where: nothing changed");
}
no_crash_in_log($node, 'sessions that end within queries');
$node->stop;
done_testing();
