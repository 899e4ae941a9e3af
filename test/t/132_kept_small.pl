# A standby forgets what it has counted of tables that are dropped.  Makes and drops many, three times, and looks how many have
# counters.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_worker_naptime = 100ms', 'max_locks_per_transaction = 200' ], allows_streaming => 1);

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---- counters of dropped tables ----

my $standby = new_standby($node, 'standby');

foreach my $round (1 .. 3)
{
	sql("do \$\$ begin for i in 1 .. 300 loop execute format('create table n%s (id int) using zheap', i); execute format('insert into n%s values (1)', i); end loop; end \$\$");
	caught_up($node, $standby);
	$standby->safe_psql('postgres', "do \$\$ begin for i in 1 .. 300 loop execute format('select from n%s', i); end loop; end \$\$");
	is($standby->safe_psql('postgres', "select count(*) from zheap.zheap_stat_tables where relname like 'n%'"), '300', "round $round: a standby counts of each table");
	sql("do \$\$ begin for i in 1 .. 300 loop execute format('drop table n%s', i); end loop; end \$\$");
}
cmp_ok($standby->safe_psql('postgres', 'select count(*) from zheap.zheap_table_stats()'), '<=', 600, 'and forgets those that are dropped');
is(sql('select count(*) from zheap.zheap_table_stats()'), '0', 'as the primary does');
$standby->stop;

no_crash_in_log($node, 'to the end');
no_crash_in_log($standby, 'standby');
$node->stop;
done_testing();
