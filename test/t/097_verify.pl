# zheap_verify() finds damage of every kind, each where it is and nothing else, without a crash; beside a load, on a standby too, it finds nothing.
# All bytes are changed in the files of a stopped server at once, each in a page of its own.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('verified',
	[ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.initial_slots = 4', 'max_prepared_transactions = 50', 'max_standby_streaming_delay = -1' ],
	allows_streaming => 1, checksums => 0);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

my $all = 'select * from zheap.zheap_verify_all()';

# ---- 1. beside a load ----

ask(<<'SQL');
create table w (id int primary key, n int, v text, t text) using zheap with (fillfactor = 80);
alter table w alter t set storage external;
create index w_n on w (n);
create index w_v on w (lower(v)) where n % 2 = 0;
insert into w select g, g, 'v' || g, repeat('t', g % 3 * 1500) from generate_series(1, 500) g;
SQL
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, <<'SQL');
\set id random(1, 500)
\set other random(1, 500)
\set n random(1, 100000)
begin;
update w set n = :n where id = least(:id, :other / 2);
savepoint a;
update w set v = repeat('v', :n % 300), t = repeat('u', :n % 4000) where id = :other;
rollback to a;
select id from w where id = :other for key share skip locked;
commit;
insert into w values (500 + :n, :n, 'new', repeat('n', :n % 3000)) on conflict (id) do update set n = excluded.n, v = 'conflict';
delete from w where id = 500 + :other * 100;
begin;
update w set n = n + 1 where id between :id and :id + 5;
rollback;
SQL
is(ask($all), '', 'nothing is wrong at first');
my $standby = new_standby($node, 'standby');
my $old = session($node);
$old->query_safe('begin');
my $load = pgbench_start($node, '-c', 4, '-T', 10000, '-f', $script);
for my $i (1 .. (short() ? 4 : 12))
{
	$old->query_safe('commit; begin isolation level repeatable read; select count(*) from w') if $i % 3 == 1;
	ask('vacuum w') if $i % 4 == 0;
	is(ask($all), '', "nothing is wrong beside a load, look $i");
	is($standby->safe_psql('postgres', $all), '', "nor on a standby, look $i");
	is($old->query_safe('select count(*) from zheap.zheap_verify(\'w\')'), '0', "nor for an old snapshot, look $i");
}
my ($rc, undef, $err) = pgbench_stop($load);
is($rc, 0, 'the load met no error') or diag($err);
is(ask($all), '', 'nothing is wrong behind it');
$old->quit;	# has a lock on w
ask('cluster w using w_pkey');
is(ask("begin; update w set n = -n; alter table w add x int default 1; insert into w (id, x) values (-1, 1); rollback; select * from zheap.zheap_verify('w')"), '', 'nor in a table that was rewritten, columns rolled back');
caught_up($node, $standby);
is($standby->safe_psql('postgres', $all), '', 'nor on the standby');
$standby->stop;
like(($node->psql('postgres', "set statement_timeout = 1; $all"))[2], qr/canceling statement/, 'it can be cancelled');
is(ask('create role r; grant usage on schema zheap to r; set role r; select has_function_privilege(\'zheap.zheap_verify(regclass, boolean)\', \'execute\'), has_function_privilege(\'zheap.zheap_verify_all(boolean)\', \'execute\')'), 'f|f', 'who may call it');
ask('drop table w');

# ---- 2. damage ----

if (ask('show debug_assertions') eq 'on')
{
	$node->stop;
	no_crash_in_log($node, 'to the end');
	done_testing();
	exit;
}
ask(<<'SQL');
create table d (id int, n int, v text) using zheap;
insert into d select g, 0, repeat('d', 100) from generate_series(1, 3000) g;
create table o (id int, n int, v text) using zheap with (fillfactor = 60);
insert into o select g, 0, repeat('o', 100) from generate_series(1, 250) g;
create table u (id int, v text) using zheap with (fillfactor = 50);
insert into u select g, repeat('u', 500) from generate_series(1, 100) g;
create table m (id int, v text) using zheap;
insert into m select g, repeat('m', 100) from generate_series(1, 300) g;
create table i (id int, a int, b int) using zheap;
insert into i select g, g, g from generate_series(1, 300) g;
create index i_id on i (id);
create index i_a on i (a);
create index i_b on i (b);
create table t (id int, v text) using zheap;
alter table t alter v set storage external;
insert into t select g, repeat('t', 5000) from generate_series(1, 4) g;
create table t2 (id int, v text) using zheap;
alter table t2 alter v set storage external;
insert into t2 select g, repeat('t', 5000) from generate_series(1, 4) g;
create table clock (n int) using zheap;
-- entries of B-trees
create table e (id int, k int) using zheap;
insert into e select g, g % 3 from generate_series(1, 200) g;
create index e_id on e (id);
create index e_k on e (k);
delete from e where id = 150;
create table c (id int) using zheap;
insert into c select generate_series(1, 200);
create index c_id on c (id);
create table c2 (id int) using zheap;
insert into c2 select generate_series(1, 1000);
create index c2_id on c2 (id);
create table c3 (id int) using zheap;
insert into c3 select generate_series(1, 1000);
create index c3_id on c3 (id);
create table j (id int, v text) using zheap;
insert into j select g, 'j' || g from generate_series(1, 200) g;
create index j_id on j (id);
create index j_v on j (v);
-- other access methods; what has lost a page has a name with a 2
create table h (id int, v int) using zheap;
insert into h select g, g from generate_series(1, 200) g;
create index h_v on h using hash (v);
create table h2 (id int, v int) using zheap;
insert into h2 select g, g from generate_series(1, 200) g;
create index h2_v on h2 using hash (v);
create table h3 (id int, v int) using zheap;
insert into h3 select g, 1 from generate_series(1, 2000) g;
create index h3_v on h3 using hash (v);
create table g (id int, p point) using zheap;
insert into g select g, point(g, g) from generate_series(1, 100) g;
create index g_p on g using gist (p);
create table g2 (id int, p point) using zheap;
insert into g2 select g, point(g, g) from generate_series(1, 100) g;
create index g2_p on g2 using gist (p);
create table s (id int, p point) using zheap;
insert into s select g, point(g, g) from generate_series(1, 100) g;
create index s_p on s using spgist (p);
create table s2 (id int, p point) using zheap;
insert into s2 select g, point(g, g) from generate_series(1, 100) g;
create index s2_p on s2 using spgist (p);
create table s3 (id int, p point) using zheap;
insert into s3 select g, point(g, g) from generate_series(1, 1000) g;
create index s3_p on s3 using spgist (p);
create table g3 (id int, p point) using zheap;
insert into g3 select g, point(g, g) from generate_series(1, 1000) g;
create index g3_p on g3 using gist (p);
create table n3 (id int, a int[]) using zheap;
insert into n3 select g, array[g] from generate_series(1, 2000) g;
create index n3_a on n3 using gin (a) with (fastupdate = off);
create table n4 (id int, a int[]) using zheap;
insert into n4 select g, array[g] from generate_series(1, 2000) g;
create index n4_a on n4 using gin (a) with (fastupdate = off);
create table n5 (id int, a int[]) using zheap;
create index n5_a on n5 using gin (a);
insert into n5 select g, array[g] from generate_series(1, 2000) g;
create table n (id int, a int[]) using zheap;
insert into n select g, array[g] from generate_series(1, 100) g;
create index n_a on n using gin (a);
create table n2 (id int, a int[]) using zheap;
insert into n2 select g, array[g] from generate_series(1, 100) g;
create index n2_a on n2 using gin (a);
create table n6 (id int, a int[]) using zheap;
insert into n6 select g, array[g % 10] from generate_series(1, 100) g;
create index n6_a on n6 using gin (a);
create table n7 (id int, a int[]) using zheap;
insert into n7 select g, array[1] from generate_series(1, 20000) g;
create index n7_a on n7 using gin (a);
create table n8 (id int, a text[]) using zheap;
insert into n8 select g, array['key'] from generate_series(1, 100) g;
create index n8_a on n8 using gin (a);
create table n9 (id int, a int[]) using zheap;
insert into n9 select g, array[1] from generate_series(1, 20000) g;
create index n9_a on n9 using gin (a);
create table n10 (id int, a int[]) using zheap;
insert into n10 select g, array[1] from generate_series(1, 20000) g;
create index n10_a on n10 using gin (a);
create table b (id int, v text) using zheap;
insert into b select g, repeat('b', 100) from generate_series(1, 500) g;
create index b_id on b using brin (id) with (pages_per_range = 1);
create table b2 (id int, v text) using zheap;
insert into b2 select g, repeat('b', 100) from generate_series(1, 500) g;
create index b2_id on b2 using brin (id int4_minmax_multi_ops (values_per_range = 8)) with (pages_per_range = 1);
create table b3 (id int, v text) using zheap;
insert into b3 select g, repeat('b', 100) from generate_series(1, 500) g;
create index b3_id on b3 using brin (id int4_bloom_ops (n_distinct_per_range = 16, false_positive_rate = 0.25)) with (pages_per_range = 1);
SQL
ask('vacuum (index_cleanup on) e');
is(ask("select lp_flags from zheap.zheap_page_items('e', 0) where lp = 150"), 'unused', 'a line pointer that is free');
ask('insert into clock values (1)') for 1 .. 3;
ask('vacuum m');
ask('update m set id = id where ctid = \'(2,1)\'');
# undo pages of its own for each fourth page of u
ask("begin; update u set v = repeat('w', 500); prepare transaction 'u'");
ask("begin; update d set n = 1 where (ctid::text::point)[1] <= 10; prepare transaction 'd'");
foreach my $i (1 .. 40)
{
	ask("begin; update o set n = $i where ctid in (" . join(', ', map { "'($_,$i)'" } 0 .. 5) . "); prepare transaction 'o$i'");
}
is(ask($all), '', 'all is well before');

sub file_of
{
	my ($relation) = @_;

	return $node->data_dir . '/' . ask("select pg_relation_filepath('$relation')");
}

my %file = map { $_ => file_of($_) }
  qw(d o u m i_id i_a i_b t zheap.undo e_id e_k c_id j_id j_v h_v h2_v h3_v g_p g2_p s_p s2_p s3_p g3_p n_a n2_a n3_a n4_a n5_a n6_a n7_a n8_a n9_a n10_a c2_id c3_id b_id b2_id b3_id);
$file{toast} = file_of(ask("select reltoastrelid::regclass from pg_class where relname = 't2'"));
$file{map} = "$file{m}_vm";
my %item = map { $_ => [ split /\|/, ask("select lp_off, lp_len from zheap.zheap_page_items('d', $_) where lp = 1") ] } 1 .. 40;
my %last = map { $_ => ask("select lp_off from zheap.zheap_page_items('d', $_) where lp = 20") } 1 .. 40;
my $slot = ask("select slot from zheap.zheap_page_slots('d', 1) where status = 'in progress'");
is(ask("select string_agg(distinct slot::text, ' ') from generate_series(0, 40) b, zheap.zheap_page_slots('d', b) where status = 'in progress'"), $slot, 'the same slot on all pages');
my @slots = split /\n/, ask("select distinct slots from generate_series(0, 40) b, zheap.zheap_page_header('d', b)");
is(scalar(@slots), 1, 'as many slots on all pages');
my $at_slot = 8192 - 16 - 16 * $slot;
my $free_slot = ask("select max(slot) from zheap.zheap_page_slots('d', 18) where status = 'free'");
my %undo = map { $_ => ask("select split_part(undo, '/', 1) from zheap.zheap_page_slots('u', $_) where status = 'in progress'") } (0, 4, 8);
is(scalar keys %{ { reverse %undo } }, 3, 'undo of three pages in three pages') or diag(join ' ', %undo);
my @overflow = map { ask("select overflow_block from zheap.zheap_page_header('o', $_)") } 0 .. 5;
my $toast_at = ask("select lp_off + lp_len - 18 from zheap.zheap_page_items('t', 0) where lp = 2");
my $record = ask("select split_part(undo, '/', 2) from zheap.zheap_page_slots('u', 0) where status = 'in progress'");
ask('checkpoint');
$node->stop;

my @expected;

# Change bytes; what is then to be found in the table's block.
sub damage
{
	my ($what, $file, $at, $bytes, $table, $block, $finding) = @_;

	write_bytes($file{$file}, $at, $bytes);
	push @expected, [ $what, $table, $block, $finding ];
	return;
}

# Of table d: in the block of this number.
sub page
{
	my ($what, $block, $at, $bytes, $finding) = @_;

	damage($what, 'd', 8192 * $block + $at, $bytes, 'd', $block, $finding);
	return;
}

sub peek
{
	my ($file, $at, $len) = @_;

	return read_bytes($file{$file}, $at, $len);
}

sub lp
{
	my ($off, $flags, $len) = @_;

	return pack('V', $off | $flags << 15 | $len << 17);
}

page('magic number', 1, 8190, 'XX', qr/\|page\|page is no zheap table page/);
page('version', 2, 8183, "\x63", qr/\|page\|page has an unknown version/);
page('number of slots', 3, 16, pack('v', 8192 - 16 - 32 * 16), qr/\|page\|page has an impossible number/);
page('end of line pointers', 4, 12, pack('v', 20), qr/\|page\|page boundaries/);
page('what the server refuses', 5, 10, pack('v', 0xFFFF), qr/\|page\|invalid page/);
page('redirection', 6, 24, lp(4000, 2, 0), qr/^1\|row\|line pointer is a redirection/);
page('dead with a length', 7, 24, lp(4000, 3, 10), qr/^1\|row\|line pointer without a row has a length/);
page('row beyond the rows', 8, 24, lp(8185, 1, 100), qr/^1\|row\|row lies outside/);
page('row shorter than its header', 9, 24, lp($item{9}[0], 1, 3), qr/^1\|row\|row is shorter than its header/);
page('number of columns', 10, $item{10}[0] + 3, "\xFF\x07", qr/^1\|row\|row has an impossible number of attributes/);
page('slot that does not exist', 11, $item{11}[0] + 2, "\x1F", qr/^1\|row\|row names a transaction slot that does not exist/);
page('the same place twice', 12, 24, lp($item{12}[0] - $item{12}[1], 1, $item{12}[1]), qr/^2\|row\|rows overlap/);
page('groups', 13, 8188, "\0" x 3, qr/^1\|row\|row names a transaction slot, unlike its group/);
page('owner to come', 14, $at_slot, pack('Q<', 1 << 40), qr/\|slot\|transaction slot $slot belongs to transaction .* not begun/);
page('count of records', 15, $at_slot + 7, "\xC8", qr/\|slot\|transaction slot $slot has 200 records/);
page('owner without undo', 16, $at_slot + 8, "\0" x 8, qr/\|slot\|transaction slot $slot has an owner, but no undo/);
page('row of a free slot', 17, $at_slot, "\0" x 16, qr/^1\|slot\|row names transaction slot $slot, which is free/);
page('free slot with records', 18, 8192 - 16 - 16 * $free_slot + 7, "\x05", qr/\|slot\|transaction slot $free_slot is free, but has 5 records/);
page('pointer to a block that has no records', 19, $at_slot + 8, pack('Q<', 5 << 32 | 1 << 16 | 24), qr/\|chain\|.*undo pointer to a block that does not exist/);
page('pointer beside a record', 20, $at_slot + 8, pack('Q<', 1 + unpack('Q<', peek('d', 8192 * 20 + $at_slot + 8, 8))), qr/\|chain\|.*no undo record is here/);
page('pointer to undo of another page', 21, $at_slot + 8, peek('d', 8192 * 22 + $at_slot + 8, 8), qr/\|chain\|.*(?:record about block 22|no record of the row)/);
page('value too long', 23, $last{23} + 13, "\xFF", qr/^20\|version\|.*values of the row run past its end/);
page('value too short', 24, $last{24} + 13, "\x05", qr/^20\|version\|values of version 1 end at/);
page('overflow page that does not exist', 25, 8192 - 8, pack('V', 99999), qr/\|overflow\|overflow page 99999 does not exist/);
page('overflow page that is none', 26, 8192 - 8, pack('V', 0), qr/\|overflow\|overflow page 0: page is no overflow page/);
page('marked all-visible', 27, 10, pack('v', 4), qr/^1\|map\|.*which has not committed/);
page('flag of padding', 28, $last{28}, "\x40", qr/^20\|row\|/);
page('padding', 28, $last{28} + 113, "\xFE", qr/^20\|row\|row has impossible padding/);
page('places where it was', 29, $last{29}, "\x80", qr/^20\|row\|row has an impossible list of places/);
page('row without a body', 30, $last{30}, "\x08\x01", qr/^20\|row\|row without a body has a wrong length/);
page('size of the page', 31, 18, pack('v', 0x1004), qr/\|page\|page header is damaged/);
page('begin of the slots', 32, 16, pack('v', 8008), qr/\|page\|page has an impossible number/);
page('rows overlap by some bytes', 33, 24 + 4 * 19, lp($last{33}, 1, 118), qr/\|row\|rows overlap/);
page('pointer of a generation to come', 34, $at_slot + 8, pack('Q<', (1 << 20) + unpack('Q<', peek('d', 8192 * 34 + $at_slot + 8, 8))), qr/\|chain\|/);
page('number of columns that the table does not have', 35, $last{35} + 3, "\x04", qr/^20\|version\|(?:version 1 has 4 columns|.*run past)/);

damage('overflow page: magic number', 'o', 8192 * $overflow[0] + 8190, 'XX', 'o', 0, qr/\|overflow\|overflow page ${\$overflow[0]}: page is no overflow page/);
damage('overflow page: whose it is', 'o', 8192 * $overflow[1] + 24, pack('V', 3), 'o', 1, qr/\|overflow\|overflow page ${\$overflow[1]} says that it belongs to block 3/);
damage('overflow page: number of lock pages', 'o', 8192 * $overflow[2] + 28, pack('V', 1000), 'o', 2, qr/\|overflow\|.*impossible number of lock pages/);
damage('overflow page: owner to come', 'o', 8192 * $overflow[3] + 32, pack('Q<', 1 << 40), 'o', 3, qr/\|slot\|transaction slot 32 belongs to .* not begun/);
damage('overflow page: lock page that does not exist', 'o', 8192 * $overflow[4] + 28, pack('V', 1), 'o', 4, qr/\|overflow\|lock page/);
damage('overflow page that nobody names', 'o', 8192 * 5 + 8192 - 8, pack('V', 0xFFFFFFFF), 'o', $overflow[5], qr/\|overflow\|it belongs to block 5, which does not name it/);
push @expected, [ 'rows that name its slots', 'o', 5, qr/\|row\|row names a transaction slot that does not exist/ ];

damage('undo record', 'zheap.undo', 8192 * $undo{0} + $record + 8, "\xA5\xA5\xA5\xA5", 'u', 0, qr/\|chain\|.*no undo record is here/);
damage('undo page: header', 'zheap.undo', 8192 * $undo{4} + 12, pack('v', 32), 'u', 4, qr/\|chain\|/);
damage('undo page of zeros', 'zheap.undo', 8192 * $undo{8}, "\0" x 8192, 'u', 8, qr/\|chain\|.*has been lost/);

damage('map: page that is not marked', 'm', 10, pack('v', 0), 'm', 0, qr/\|map\|page is not marked all-visible, but its bit/);
damage('map: deleted row on a marked page', 'm', 8192 + (unpack('V', peek('m', 8192 + 24, 4)) & 0x7FFF), "\x08", 'm', 1, qr/\|map\|page is marked all-visible, but has rows/);
damage('map: bit', 'map', 24, chr(ord(peek('map', 24, 1)) | 0x30), 'm', 2, qr/\|map\|page is not marked all-visible, but its bit/);

# leaf pages are block 1; entries: TID, 2 bytes, key
sub entry
{
	my ($index, $n) = @_;

	return 8192 + (unpack('V', peek($index, 8192 + 24 + 4 * ($n - 1), 4)) & 0x7FFF);
}

my ($key) = unpack 'V', peek('i_id', entry('i_id', 10) + 8, 4);
damage('index: key', 'i_id', entry('i_id', 10) + 8, pack('V', 70000), 'i', 0, qr/^$key\|index\|the row is not in index "i_id"/);
damage('index: address', 'i_id', entry('i_id', 20) + 4, pack('v', 299), 'i', 0, qr/\|index\|the row is not in index "i_id"/);
my ($dead) = unpack 'V', peek('i_a', 8192 + 24 + 4 * 29, 4);
damage('index: dead entry', 'i_a', 8192 + 24 + 4 * 29, pack('V', $dead | 3 << 15), 'i', 0, qr/\|index\|the row is not in index "i_a"/);
damage('index: page of zeros', 'i_b', 8192, "\0" x 8192, 'i', '', qr/\|index\|.*"i_b" contains unexpected zero page/);

# where entry n of a table of one page leads to
sub leads_to
{
	my ($what, $index, $n, $lp, $finding) = @_;

	damage("entry: $what", $index, entry($index, $n) + 4, pack('v', $lp), substr($index, 0, 1), 0, qr/^${\($lp || '')}\|index\|item $n on block 1 of index "$index" leads to $finding/);
	return;
}

sub missing
{
	my ($what, $table, $block, $index) = @_;

	push @expected, [ $what, $table, $block, qr/^\d+\|index\|the row is not in index "$index"/ ];
	return;
}

# The second half of an entry's block number: a block that does not exist.
sub beyond
{
	my ($index, $at, $block, $where) = @_;
	my $table = (split /_/, $index)[0];

	damage("entry of $index: block that does not exist", $index, $at + 2, pack('v', $block), $table, $block, qr/^\d+\|index\|$where index "$index" leads to a block that does not exist/);
	missing("row that has lost its entry in $index", $table, 0, $index);
	return;
}

# Where the items of any page begin.
sub items
{
	my ($index, $block) = @_;
	my $lower = unpack 'v', peek($index, 8192 * $block + 12, 2);

	return map { 8192 * $block + ($_ & 0x7FFF) } unpack 'V*', peek($index, 8192 * $block + 24, $lower - 24);
}

beyond('e_id', entry('e_id', 10), 7777, 'item 10 on block 1 of');
leads_to('line pointer that is free', 'e_id', 20, 150, 'a line pointer that is not in use');
leads_to('line pointer that is not there', 'e_id', 21, 280, 'a line pointer that is not in use');
leads_to('no line pointer', 'e_id', 22, 0, 'a line pointer that is not in use');
leads_to('another row', 'e_id', 30, 40, 'a row that has another key');
my $list = entry('e_k', 1);
ok(unpack('v', peek('e_k', $list + 6, 2)) & 0x2000, 'a posting list');
beyond('e_k', $list + unpack('v', peek('e_k', $list + 2, 2)) + 6 * 5, 6666, 'item 1 on block 1 of');

damage('index: pages in a circle', 'c_id', 8192 + 8192 - 16 + 4, pack('V', 1), 'c', '', qr/^\|index\|the pages of a level of index "c_id" form a circle/);
# of the level above the leaves: block 3 is half-dead and leads to itself
damage('index: pages in a circle, above the leaves', 'c3_id', 8192 * 3 + 8192 - 16 + 4, pack('V', 3), 'c3', '', qr/^\|index\|the pages of a level of index "c3_id" form a circle/);
write_bytes($file{c3_id}, 8192 * 3 + 8192 - 4, pack('v', 16));
damage('index: link to a block that there cannot be', 'c2_id', 8192 + 8192 - 16 + 4, pack('V', 0xFFFFFFFF), 'c2', '', qr/^\|index\|block 4294967295 of index "c2_id" is damaged/);
damage('index: item', 'j_id', 8192 + 24 + 4 * 9, pack('V', (unpack('V', peek('j_id', 8192 + 24 + 4 * 9, 4)) & 0x1FFFF) | 8000 << 17), 'j', '', qr/^\|index\|item 10 on block 1 of index "j_id" is damaged/);
missing('row of that item', 'j', 0, 'j_id');
damage('index: length of a value', 'j_v', entry('j_v', 10) + 8, "\xF1", 'j', '', qr/^\|index\|item 10 on block 1 of index "j_v" is damaged/);
missing('row of that value', 'j', 0, 'j_v');

my ($hash_page) = grep { unpack('v', peek('h_v', 8192 * $_ + 8192 - 4, 2)) & 2 && items('h_v', $_) > 5 } 1 .. (-s $file{h_v}) / 8192 - 1;
my @hashed = items('h_v', $hash_page);
my $hashed_lp = unpack 'v', peek('h_v', $hashed[0] + 4, 2);
damage('hash: value', 'h_v', $hashed[0] + 8, pack('V', 0), 'h', 0, qr/^$hashed_lp\|index\|the row is not in index "h_v"/);
beyond('h_v', $hashed[1], 7777, 'an entry of');
damage('hash: line pointer that is not there', 'h_v', $hashed[2] + 4, pack('v', 250), 'h', 0, qr/^250\|index\|an entry of index "h_v" leads to a line pointer that is not in use/);
damage('hash: line pointer that no page has', 'h_v', $hashed[3] + 4, pack('v', 999), 'h', 0, qr/^999\|index\|item 4 on block $hash_page of index "h_v" leads to a line pointer that is not in use/);
my ($zero_page) = grep { unpack('v', peek('h2_v', 8192 * $_ + 8192 - 4, 2)) & 2 && items('h2_v', $_) > 5 } 1 .. (-s $file{h2_v}) / 8192 - 1;
damage('hash: page of zeros', 'h2_v', 8192 * $zero_page, "\0" x 8192, 'h2', 0, qr/^\d+\|index\|index "h2_v" contains unexpected zero page at block $zero_page/);

# a bucket whose last page leads to itself, and an entry in it of which the value is wrong: a search for the row went round for ever
my ($end) = grep { my ($prev, $next, undef, $flags) = unpack 'V3v', peek('h3_v', 8192 * $_ + 8176, 14); $flags & 1 && $next == 0xFFFFFFFF } 1 .. (-s $file{h3_v}) / 8192 - 1;
write_bytes($file{h3_v}, (items('h3_v', $end))[0] + 8, pack('V', 0));
damage('hash: pages in a circle', 'h3_v', 8192 * $end + 8176 + 4, pack('V', $end), 'h3', '', qr/^\|index\|the pages of a bucket of index "h3_v" form a circle/);

my @points = items('g_p', 0);
beyond('g_p', $points[10], 7777, 'an entry of');
damage('GiST: line pointer that is not there', 'g_p', $points[20] + 4, pack('v', 222), 'g', 0, qr/^222\|index\|an entry of index "g_p" leads to a line pointer that is not in use/);
damage('GiST: page of zeros', 'g2_p', 0, "\0" x 8192, 'g2', '', qr/^\|index\|block 0 of index "g2_p" is damaged/);
@points = items('s_p', 1);
beyond('s_p', $points[10] + 6, 7777, 'an entry of');
damage('SP-GiST: page of zeros', 's2_p', 8192, "\0" x 8192, 's2', '', qr/^\|index\|block 1 of index "s2_p" is damaged/);
my ($array) = (items('n_a', 1))[10];
beyond('n_a', $array + unpack('v', peek('n_a', $array + 2, 2)), 7777, 'an entry of');
# links that lead back: a scan would go round for ever
my ($root) = items('s3_p', 1);
damage('SP-GiST: tuples in a circle', 's3_p', $root + 8 + unpack('v', peek('s3_p', $root + 2, 2)), pack('v3', 0, 1, 1), 's3', '', qr/^\|index\|item 1 on block 1 of index "s3_p" is led to more than once/);
($root) = items('g3_p', 0);
damage('GiST: pages in a circle', 'g3_p', $root, pack('v2', 0, 0), 'g3', '', qr/^\|index\|block 0 of index "g3_p" is led to more than once/);
my ($leaf) = grep { my ($right, undef, $flags) = unpack 'Vvv', peek('n3_a', 8192 * $_ + 8184, 8); $flags == 2 && $right != 0xFFFFFFFF } 2 .. (-s $file{n3_a}) / 8192 - 1;
damage('GIN: pages in a circle, to the right', 'n3_a', 8192 * ($leaf + 1) - 8, pack('V', $leaf), 'n3', '', qr/^\|index\|the pages of index "n3_a" form a circle: block $leaf leads to block $leaf/);
($root) = items('n4_a', 1);
damage('GIN: pages in a circle, down', 'n4_a', $root, pack('v2', 0, 1), 'n4', '', qr/^\|index\|the pages of index "n4_a" form a circle: block 1 leads to block 1/);
my $pending = unpack 'V', peek('n5_a', 24, 4);
damage('GIN: pending list in a circle', 'n5_a', 8192 * ($pending + 1) - 8, pack('V', $pending), 'n5', '', qr/^\|index\|the pages of index "n5_a" form a circle: block $pending leads to block $pending/);
# what the access method copies by the length that it states
my ($postings) = (items('n6_a', 1))[5];
damage('GIN: where the postings of a key are', 'n6_a', $postings, pack('v', unpack('v', peek('n6_a', $postings, 2)) ^ 0x1000), 'n6', '', qr/^\|index\|block 1 of index "n6_a" is damaged/);
my ($data) = grep { (unpack('v', peek('n7_a', 8192 * $_ + 8190, 2)) & 3) == 3 } 1 .. (-s $file{n7_a}) / 8192 - 1;
damage('GIN: length of postings', 'n7_a', 8192 * $data + 32 + 6, pack('v', 0xFFFF), 'n7', '', qr/^\|index\|block $data of index "n7_a" is damaged/);
damage('GIN: length of a key', 'n8_a', (items('n8_a', 1))[0] + 8, "\xF1", 'n8', '', qr/^\|index\|block 1 of index "n8_a" is damaged/);
# links to where no page below can be
damage('GIN: the tree of a key, in the first page', 'n9_a', (items('n9_a', 1))[0], pack('v2', 0, 0), 'n9', '', qr/^\|index\|block 1 of index "n9_a" is damaged/);
damage('GIN: the tree of a key, in no page', 'n10_a', (items('n10_a', 1))[0], pack('v2', 0xFFFF, 0xFFFF), 'n10', '', qr/^\|index\|block 1 of index "n10_a" is damaged/);
damage('GIN: page of zeros', 'n2_a', 8192, "\0" x 8192, 'n2', '', qr/^\|index\|block 1 of index "n2_a" is damaged/);
my ($range) = grep { unpack('V', peek('b_id', $_, 4)) == 3 } items('b_id', 2);
damage('BRIN: greatest value of a range', 'b_id', $range + 8 + 4, peek('b_id', $range + 8, 4), 'b', 3, qr/^2\|index\|the row is not in index "b_id"/);
# values of summaries: a byte's header, and from then on what the operator class has unpacked
($range) = grep { unpack('V', peek('b2_id', $_, 4)) == 3 } items('b2_id', 2);
is(unpack('V', peek('b2_id', $range + 8 + 1, 4)), 23, 'ranges of integers');
damage('BRIN: number of values', 'b2_id', $range + 8 + 1 + 8, pack('V', 1000), 'b2', 3, qr/\|index\|the summary of block 3 in index "b2_id" is damaged/);
($range) = grep { unpack('V', peek('b3_id', $_, 4)) == 3 } items('b3_id', 2);
cmp_ok(unpack('V', peek('b3_id', $range + 8 + 1 + 4, 4)) % 8, '==', 0, 'bits of a Bloom filter');
damage('BRIN: size of a Bloom filter', 'b3_id', $range + 8 + 1 + 4, pack('V', 0), 'b3', 3, qr/\|index\|the summary of block 3 in index "b3_id" is damaged/);

damage('pointer to a value elsewhere', 't', $toast_at + 14, pack('V', 1259), 't', 0, qr/^2\|toast\|column 2 has a value in relation 1259/);
damage('values lost', 'toast', 0, "\0" x 8192, 't2', 0, qr/\|version\|.*missing chunk number/);

# as docs/inspection.md says
my ($recipe) = slurp_file("$FindBin::RealBin/../../docs/inspection.md") =~ /```sh\n(.*?)```/s;
sub recipe_ends_with
{
	my ($database) = @_;
	local %ENV = $node->_get_env();

	(my $script = $recipe) =~ s/mydb/$database/;
	system('sh', '-c', "($script) >/dev/null 2>&1");
	return $? >> 8;
}

$node->start;
is(recipe_ends_with('postgres'), 1, 'the exit code, where something is wrong');
is(recipe_ends_with('template1'), 2, 'and where that cannot be found out');
my %found;
foreach my $line (split /\n/, ask('select relation, block, lp, kind, message from zheap.zheap_verify_all()'))
{
	my ($table, $block, $finding) = split /\|/, $line, 3;

	push @{ $found{"$table $block"} }, $finding;
}
foreach my $case (@expected)
{
	my ($what, $table, $block, $finding) = @$case;
	my @there = @{ $found{"$table $block"} // [] };

	ok((grep { $_ =~ $finding } @there) > 0, "found: $what") or diag(join "\n", "$table $block:", @there);
}
cmp_ok(scalar @expected, '>=', 70, 'kinds of damage: ' . scalar @expected);
my %damaged = map { ("$_->[1] $_->[2]" => 1) } @expected;
# what the same bytes spoil elsewhere: an undo page holds the undo of neighbours, a page's index entry another's
my @others = grep { !$damaged{$_} && !/^u / && !/^o / } sort keys %found;
is("@others", '', 'nothing else is found') or diag(join "\n", map { "$_: @{ $found{$_} }" } @others);
is(ask("select count(*) from zheap.zheap_verify('d', false) where block = 14"), scalar @{ $found{'d 14'} }, 'one table by itself');
is(ask("select count(*) from zheap.zheap_verify('t2', false)"), '0', 'without reading toasted values');
$node->stop('immediate');
no_crash_in_log($node, 'to the end');
done_testing();
