# With the least shared_buffers that a server takes zheap works: undo relations are made, moved and given up, and replayed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = PostgreSQL::Test::Cluster->new('small');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "shared_buffers = 128kB\nautovacuum = off\nzheap.undo_workers = 0\nmax_connections = 20\n");
$node->start;

sub ask
{
	return ($node->psql('postgres', $_[0]))[$_[1] // 1];
}

is(ask('create extension zheap', 2), '', 'CREATE EXTENSION');
my $standby = new_standby($node, 'standby');
ask(<<'SQL');
create table t (id int primary key, v text) using zheap;
insert into t select g, repeat('t', 100) from generate_series(1, 1000) g;
begin;
update t set v = repeat('u', 100);
rollback;
update t set v = repeat('v', 100) where id % 2 = 0;
SQL
my $sums = q{select count(*), sum(id), count(*) filter (where v like 'v%'), count(*) filter (where v like 't%') from t};
is(ask($sums), '1000|500500|500|500', 'rows');
is(ask('vacuum full zheap.undo', 2), '', 'VACUUM FULL of the undo relation');
is(ask('begin; update t set id = -id; rollback; select zheap.zheap_undo_skip(true)', 2), '', 'all undo is given up');
is(ask($sums), '1000|500500|500|500', 'the same rows');
ask("begin; update t set v = 'x'");
caught_up($node, $standby);
is(($standby->psql('postgres', $sums))[1], '1000|500500|500|500', 'on the standby');
$standby->stop;
$node->stop('immediate');
$node->start;
is(ask($sums), '1000|500500|500|500', 'and after a crash');
is(ask("select count(*) from zheap.zheap_verify_all()"), '0', 'nothing is wrong');
no_crash_in_log($node, 'to the end');
no_crash_in_log($standby, 'standby');
$node->stop;
done_testing();
