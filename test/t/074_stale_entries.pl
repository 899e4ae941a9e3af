# Index entries that nobody needs any more go when their page of the index is full; those that an
# old snapshot needs stay, and it finds its rows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('stale');

keys_table($node, 's', 500);

sub pages
{
	return $node->safe_psql('postgres', "select pg_relation_size('s_n') / 8192");
}

sub sums
{
	return "set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(n) from s where n >= 0";
}

my $others = "select pg_relation_size('s_t'), pg_relation_size('s_pkey')";
my $size = $node->safe_psql('postgres', $others);

# 100,000 updates leave as many entries: more than 250 pages, if none is removed
$node->safe_psql('postgres', 'call rounds(1, 200)');
cmp_ok(pages(), '<', 100, 'entries that nobody needs are removed');
is($node->safe_psql('postgres', $others), $size, 'indexes that have not changed have not grown');

my $old = $node->background_psql('postgres');
$old->query_safe('begin isolation level repeatable read');
my $before = $old->query_safe(sums());
$node->safe_psql('postgres', 'call rounds(201, 400)');
is($old->query_safe(sums()), $before, 'an old snapshot finds its rows by their old keys');
isnt($node->safe_psql('postgres', sums()), $before, 'a new one by their new keys');
$old->query_safe('commit');
$old->quit;

my $held = pages();
$node->safe_psql('postgres', 'call rounds(401, 800)');
cmp_ok(pages(), '<', 2 * $held, 'afterwards entries are removed again');
is($node->safe_psql('postgres', "select bt_index_parent_check('s_n', true, true)"), '', 'the index is sound');
is($node->safe_psql('postgres', sums()),
	$node->safe_psql('postgres', 'set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off; select count(*), sum(n) from s'),
	'and has each row once');

$node->stop;
done_testing();
