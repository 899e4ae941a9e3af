# Other extensions' C code and default_table_access_method = zheap from everywhere that it can be set, and in databases without zheap:
# their tables are heap tables; and background workers that are known to take zheap rows for heap's are refused.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Copy qw(copy);
use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $libraries = abs_path(PostgreSQL::Test::Utils::tempdir());
my $node = new_server('believers', [ 'autovacuum = off', 'zheap.undo_workers = 0', "dynamic_library_path = '$libraries:\$libdir'" ]);

plan skip_all => 'zheap_unit is not installed' unless has_unit($node);

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

sub methods
{
	my ($db) = @_;

	return sql("select string_agg(relname || ' ' || amname, ', ' order by relname) from pg_class c join pg_am m on c.relam = m.oid
		where relkind in ('r', 'm') and relnamespace = 'public'::regnamespace and relname ~ '_(default|define|updated|set|named)\$'", $db);
}

my $expected = 'believer_default heap, believer_define heap, believer_named zheap, believer_set zheap, believer_updated heap, believers_set zheap';

# ---- where the parameter comes from ----

sub lives
{
	my ($what, $db) = @_;

	sql("create extension zheap_believer version '1.0'", $db);
	sql('alter extension zheap_believer update', $db);
	sql('create extension zheap_believers', $db);
	is(methods($db), $expected, "$what: the extension's tables");
	sql("select believer_create('by_c', 'define'), believer_create('by_c_named', 'define', 'zheap'); create table user_default (a int)", $db);
	is(methods($db), "$expected, by_c_named zheap, user_default zheap", "$what: tables by name, and of the user");
	is(sql("select amname from pg_class c join pg_am m on c.relam = m.oid where relname = 'by_c'; show default_table_access_method", $db), "heap\nzheap",
		"$what: table of C code");
	sql('drop extension zheap_believer cascade; drop table by_c, by_c_named, user_default', $db);
}

sql('alter database postgres set default_table_access_method = zheap');
lives('database');
sql('alter database postgres reset default_table_access_method; alter role all set default_table_access_method = zheap');
lives('role');
sql('alter role all reset default_table_access_method');
{
	local $ENV{PGOPTIONS} = '-c default_table_access_method=zheap';
	lives('connection');
}
sql('create database bare');
sql('alter system set default_table_access_method = zheap');
$node->reload;
ok(wait_until(sub { sql('show default_table_access_method') eq 'zheap' }), 'reloaded');
lives('server');
$node->restart;
lives('server, after a restart');

# Where there is no such access method, no table of a statement can be made; what names none in C is a heap table there as well.
sql("create function believer_create(text, text, text) returns void language c as 'zheap_unit'; select believer_create('by_c', 'define', null)", 'bare');
is(sql('select count(*) from by_c', 'bare'), '0', 'a table of C code');
my (undef, undef, $err) = $node->psql('bare', 'create table t (a int)');
like($err, qr/access method "zheap" does not exist/, 'none of the user');
sql('drop function believer_create; drop table by_c; create extension zheap', 'bare');
lives('zheap created last', 'bare');

# The query of the documentation finds what an extension has as zheap tables.
my ($query) = slurp_file("$FindBin::RealBin/../../docs/extensions.md") =~ /```sql\n(SELECT.*?)```/s;
sql('create extension zheap_believer', 'bare');
is(join(' ', sort split /\n/, sql($query, 'bare')), 'zheap_believer|believer_named zheap_believer|believer_set', 'zheap tables of extensions');
sql('drop extension zheap_believer', 'bare');

# A reload changes what sessions get, also between a statement and the next of a transaction.
my $session = session($node);
$session->query_safe('create extension zheap_believer; begin; create table made_before (a int)');
sql('alter system reset default_table_access_method');
$node->reload;
ok(wait_until(sub { sql('show default_table_access_method') eq 'heap' }), 'reloaded again');
$session->query_safe("commit; begin; create table made_after (a int); select believer_create('made_by_c', 'define'); commit");
is($session->query_safe("select string_agg(amname, ' ' order by relname) from pg_class c join pg_am m on c.relam = m.oid where relname ~ '^made_'"),
	'heap zheap heap', 'tables after, before, and of C code');
$session->quit;

# ---- 17: SET ACCESS METHOD DEFAULT; partitions of a table that has an access method ----

SKIP:
{
	skip 'before 17 there is neither', 3 if $node->pg_version < 17;
	is(sql("set default_table_access_method = zheap; create table to_default (a int) using heap; insert into to_default values (1);
		create materialized view view_to_default using heap as select 1 as a;
		alter table to_default set access method default; alter materialized view view_to_default set access method default;
		select string_agg(amname, ' ') from pg_class c join pg_am m on c.relam = m.oid where relname ~ 'to_default'; table to_default"),
		"zheap zheap\n1", 'set to the default');
	is(sql("alter table to_default set access method default; select amname from pg_class c join pg_am m on c.relam = m.oid where relname = 'to_default'"),
		'heap', 'and to another one');
	is(sql("create table parts (a int) partition by list (a) using zheap; create table heap_parts (a int) partition by list (a) using heap;
		create table parts_1 partition of parts for values in (1);
		set default_table_access_method = zheap;
		create table heap_parts_1 partition of heap_parts for values in (1);
		create table plain_parts (a int) partition by list (a); create table plain_parts_1 partition of plain_parts for values in (1);
		alter table parts set access method default; create table parts_2 partition of parts for values in (2);
		set default_table_access_method = heap; create table parts_3 partition of parts for values in (3);
		select string_agg(relname || ' ' || coalesce(amname, '-'), ', ' order by relname) from pg_class c left join pg_am m on c.relam = m.oid
			where relname ~ 'parts' and relnamespace = 'public'::regnamespace"),
		'heap_parts heap, heap_parts_1 heap, parts -, parts_1 zheap, parts_2 zheap, parts_3 heap, plain_parts -, plain_parts_1 zheap',
		'partitions');
}

# ---- background workers ----

my $library = $node->config_data('--pkglibdir') . '/zheap_unit.so';

foreach my $name (qw(pglogical spock pglogical_other))
{
	copy($library, "$libraries/$name.so") or die "cannot copy $library: $!";
	chmod 0755, "$libraries/$name.so";
}
sql('create table z (a int, b int) using zheap; create table h (a int, b int) using heap');

# Returns what it has written to the log.
sub worker
{
	my ($name, $table, $how) = @_;
	my $at = -s $node->logfile;

	sql("select believer_worker('$name', '$table', '$how')");
	return slurp_file($node->logfile, $at);
}

foreach my $name ('pglogical', 'spock', "$libraries/pglogical")
{
	my $log = worker($name, 'z', 'apply');
	like($log, qr/ERROR: +background worker of "\Q$name\E" cannot write to table "z"\n.*DETAIL: .*\n.*HINT: +Use ALTER TABLE ... SET ACCESS METHOD heap/, "$name is refused, with a hint");
	is(sql('select count(*) from z'), '0', "$name has written nothing");
	like(worker($name, 'h', 'apply'), qr/is done: apply/, "$name writes to a heap table");
	like(worker($name, 'z', 'spi'), qr/is done: spi/, "$name writes by SQL");
	like(worker($name, 'z', 'read'), qr/is done: read/, "$name reads");
	is(sql('table z; truncate z'), '1|1', "$name: the row that SQL has written");
}
like(worker('pglogical_other', 'z', 'spi'), qr/is done: spi/, "another library's worker");
is(sql('select count(*) from h'), '3', 'rows of the heap table');

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
