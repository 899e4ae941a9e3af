# The counter of transactions is set back behind the undo horizon, as pg_resetwal does without the right epoch: zheap tables are refused
# until it is put right, for what new transactions do would pass for what all see.  (Heap stores no epoch.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('counter', [ 'autovacuum = off' ]);

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub set_epoch
{
	my ($epoch) = @_;

	$node->stop;
	command_ok([ 'pg_resetwal', '-e', $epoch, $node->data_dir ], "epoch $epoch");
	$node->start;
	return;
}

sql('create table t (id int) using zheap; create table h (id int) using heap; insert into t values (1); insert into h values (1)');
set_epoch(1);
sql('insert into t values (2)');
# the horizon comes to the new epoch, and is logged
ok(wait_until(sub { sql('insert into t values (0)'); sql('vacuum zheap.undo'); return sql("select age(relfrozenxid) < 10 from pg_class where oid = 'zheap.undo'::regclass") eq 't' }),
	'the horizon has moved');
is(sql('select sum(id) from t'), 3, 'all is well with a greater epoch');

set_epoch(0);
my $refused = qr/undo of this database is of transactions that have not begun yet.*undo horizon is at \d+ of epoch 1/s;
foreach my $statement ('insert into t values (10)', 'select sum(id) from t', 'create table u (id int) using zheap; insert into u values (1)',
	'vacuum zheap.undo')
{
	my ($rc, $out, $err) = $node->psql('postgres', $statement);

	like($err, $refused, "refused: $statement");
}
is(sql('insert into h values (2); select sum(id) from h'), 3, 'heap tables can be used');

set_epoch(1);
is(sql('insert into t values (3); select sum(id) from t'), 6, 'and zheap tables again when it has been put right');
no_crash_in_log($node, 'counter set back');
$node->stop;
done_testing();
