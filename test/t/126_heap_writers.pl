# C code that takes a zheap table for heap's fails before it has changed anything; what it writes all the same is found by the next statement.
# Each of the server's heap functions is called on tables of several kinds; then the answers of all readers are compared with those from before.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('writers', [ 'autovacuum = off', 'max_standby_streaming_delay = -1' ], allows_streaming => 1);
plan skip_all => 'needs the module of test/unit' unless has_unit($node);
my $asserts = $node->safe_psql('postgres', 'show debug_assertions') eq 'on';
my $standby = new_standby($node, 'standby');

sub ask
{
	return $node->safe_psql('postgres', join(';', @_));
}

# What the statements of a new session say: rows or errors.
sub said
{
	my ($out, $err);
	my $rc = $node->psql('postgres', "\\set VERBOSITY verbose\n" . join(";\n", @_), stdout => \$out, stderr => \$err);
	return $err =~ /ERROR:/ ? $err : $out;
}

my $found = qr/XX001: zheap data is damaged in relation "t", block \d+: an extension wrote heap rows here/;
my $prevented = qr/0A000: cannot write heap rows into table "t"/;
ask('create extension zheap_unit');

# A function, called on a new table.  Without an offset in the TID it looks for room by itself.
sub write_rows
{
	my ($function, $tid, @before) = @_;
	return said(@before, "select zheap_unit_heap_write('$function', 't', '$tid', array['777', 'written by heap functions'])");
}

sub new_table
{
	my ($kind) = @_;
	my %rows = (empty => 0, few => 5, unlogged => 5, indexed => 5, freed => 1000, full => 1000);
	my $persistence = $kind eq 'unlogged' ? 'unlogged' : '';
	my $key = $kind eq 'indexed' ? 'primary key' : '';

	ask('drop table if exists t', "create $persistence table t (id int $key, v text) using zheap",
		"insert into t select g, 'abcdefghij' || chr(64 + g % 20) || 'i of row ' || g from generate_series(1, $rows{$kind}) g",
		$kind eq 'freed' ? 'delete from t where id % 3 = 0' : 'select 1', 'vacuum t');
}

my $all = q{select count(*), count(id), md5(string_agg(t::text, ',' order by id)) from t};
my @inserts = qw(heap_insert heap_multi_insert CatalogTupleInsert);

# ---- 1. insertions fail, whatever the session has done before ----

foreach my $kind (qw(empty few full freed unlogged indexed))
{
	new_table($kind);
	my $before = ask($all);
	my @wrong;
	foreach my $function (@inserts)
	{
		push @wrong, "$function in a new session: $_"
		  foreach grep { !/$prevented/ } write_rows($function, '(0,0)');
		push @wrong, "$function after a query: $_"
		  foreach grep { !/target block \d+.*DETAIL:  C code of an extension.*HINT:  Make/s && !/$prevented/ } write_rows($function, '(0,0)', $all);
		push @wrong, "$function after an insertion: $_"
		  foreach grep { !/target block \d+.*DETAIL:  C code of an extension.*HINT:  Make/s } write_rows($function, '(0,0)', 'begin', "insert into t values (900, 'x')");
	}
	is("@wrong", '', "$kind table: nothing is inserted");
	is(ask($all), $before, "$kind table: the rows are as before");
	is(ask("select * from zheap.zheap_verify('t')"), '', "$kind table: all is well");
}

# ---- 2. servers before 15.7 may find a page in the free space map without a question; so does the module ----

# Every statement tells of it, but for those that do not read the page.
sub is_found
{
	my ($what, $record) = @_;
	my @statements = ('select count(*) from t', "select * from t where ctid = any (array(select format('(%s,%s)', b, l)::tid from generate_series(0, 9) b, generate_series(1, 300) l))",
		'vacuum t', 'analyze t', 'create table x as select * from t', "copy t to stdout", 'create index on t (id)', 'vacuum full t',
		"update t set v = v || '!'", 'delete from t', 'select * from t for update', "select count(*) from t tablesample system (100)");
	my @silent = grep { said($_) !~ /$found/ } @statements;
	is("@silent", '', "$what: each statement tells of it");
	like(ask("select kind, message from zheap.zheap_verify('t') limit 1"),
		qr/^heap\|an extension wrote heap rows here$record/, "$what: verified");
}

sub others_are_read
{
	my ($what, $before) = @_;
	is(said('set zheap.skip_heap_rows = on', $all), $before, "$what: the other rows can be read");
}

my %record = (heap_insert => 'Heap/INSERT', CatalogTupleInsert => 'Heap/INSERT', heap_multi_insert => 'Heap2/MULTI_INSERT');
foreach my $kind (qw(few freed unlogged))
{
	foreach my $function (@inserts)
	{
		new_table($kind);
		my $before = ask($all);
		is(write_rows($function, '(0,1)'), '', "$function, $kind table");
		is_found("$function, $kind table", $kind eq 'unlogged' ? '$' : qr/: the WAL record that ends at \S+ is \Q$record{$function}\E of transaction \d+/);
		others_are_read("$function, $kind table", $before);
		like(write_rows($function, '(0,0)'), qr/$prevented/, "$function, $kind table: not again");
	}
}

# The session that has done it hears of it in the same transaction, which leaves its rows behind if it is rolled back.
new_table('few');
my $few = ask($all);
like(said('begin', "select zheap_unit_heap_write('heap_insert', 't', '(0,1)', array['777', 'x'])", "insert into t values (6, 'y')"),
	$found, 'the next statement of the session that wrote');
like(said($all), $found, 'what was rolled back is found');
others_are_read('rolled back', $few);

# No page has room: heap makes one.
ask('drop table t', 'create table t (id int, v text) using zheap', "insert into t select g, repeat('x', 1200) from generate_series(1, 12) g", 'vacuum t');
my $full = ask($all);
is(said("select zheap_unit_heap_write('heap_insert', 't', '(0,1)', array['777', repeat('y', 1500)])"), '', 'a page of heap');
is_found('a page of heap', qr/: the WAL record that ends at \S+ is Heap\/INSERT\+INIT of transaction \d+/);
others_are_read('a page of heap', $full);
ask('create table other (id int, v text) using heap', "select zheap_unit_heap_write('heap_insert', 'other', '(0,0)', array['1', 'x'])");
is(ask('select count(*) from other'), '1', 'heap tables are written as ever');

# With an index whose entries lead to rows of both kinds.
new_table('indexed');
my $indexed = ask($all);
write_rows('CatalogTupleInsert', '(0,1)');
is(said('set zheap.skip_heap_rows = on', 'set enable_seqscan = off', 'set enable_bitmapscan = off', 'select count(*), sum(id) from t where id > 0'), '5|15',
	'an index scan passes by entries of heap rows');
is(said('set zheap.skip_heap_rows = on', 'set enable_seqscan = off', 'set enable_indexscan = off', 'select count(*), sum(id) from t where id > 0'), '5|15',
	'a bitmap scan does');
like(said('set zheap.skip_heap_rows = on', "insert into t values (6, 'six')"), $found, 'nothing is written beside them');
ask('set zheap.skip_heap_rows = on', 'create table saved using zheap as select * from t', 'drop table t', 'alter table saved rename to t');
is(ask($all), $indexed, 'the rows are saved');
is(ask("select * from zheap.zheap_verify('t')"), '', 'and all is well');

# ---- 3. on a standby ----

new_table('few');
write_rows('heap_insert', '(0,1)');
caught_up($node, $standby);
my ($rc, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\n$all");
like($err, $found, 'a standby tells of it');
like($standby->safe_psql('postgres', "select message from zheap.zheap_verify('t')"), qr/is Heap\/INSERT of transaction \d+/, 'and verifies');
is($standby->safe_psql('postgres', "set zheap.skip_heap_rows = on; $all"), $few, 'and reads the other rows');

# ---- 4. changes of rows whose values look like hint bits of heap; others are refused by heap itself ----

# On a server with assertions heap functions are sure that the row is one of theirs.
foreach my $function ($asserts ? () : qw(simple_heap_update simple_heap_delete heap_lock_tuple))
{
	my @wrong;
	# the transaction's number gets into the row's header: sixteen of them make all cases
	for my $i (1 .. 16)
	{
		new_table('few');
		my $xid = said("select pg_current_xact_id(), zheap_unit_heap_write('$function', 't', '(0,2)', array['2', 'two'])");
		if ($xid !~ /^(\d+)\|$/)
		{
			push @wrong, $xid;
			next;
		}
		# nothing is left then but changed values, which any row may have
		next if $1 % 16 == 0;
		push @wrong, "$xid " . said($all) if said($all) !~ /$found/;
		push @wrong, "$xid is not verified" if ask("select kind from zheap.zheap_verify('t')") ne 'heap';
	}
	is("@wrong", '', "$function is found");
}
new_table('few');
like(write_rows('heap_inplace_update', '(0,2)'), qr/wrong tuple length/, 'heap_inplace_update fails');
foreach my $function ('heap_fetch', 'heap_hot_search_buffer', 'heap_getnext', 'heap_getnext of heap_beginscan')
{
	said("select zheap_unit_heap_read('$function', 't', '(0,2)')");
}
is(ask($all), $few, 'reading as heap does changes nothing');

# ---- 5. rows that look like it are rows ----

ask('drop table t', 'create table t (a int, b smallint, c bool, d int, e smallint) using zheap',
	'insert into t select g, g, true, 0, g from generate_series(1, 250) g');
is(ask('select count(*), sum(a), sum(e) from t'), '250|31375|31375', 'values that are the row\'s own number');
is(ask("select * from zheap.zheap_verify('t')"), '', 'are no finding');
is(ask('set zheap.skip_heap_rows = on', 'select count(*), sum(a), sum(e) from t'), '250|31375|31375', 'and are not passed by');
is(ask('update t set e = e', 'delete from t where a % 2 = 0', 'vacuum t', 'select count(*) from t'), '125', 'and can be changed');

no_crash_in_log($node, 'primary');
no_crash_in_log($standby, 'standby');
done_testing();
