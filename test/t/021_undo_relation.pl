# A superuser who runs commands on the undo relation gets a clear error or nothing happens; tables stay what they are.
# Undo of aborted transactions and of an old snapshot is there all the time, and is read after each command.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('undorel', [ 'max_worker_processes = 0', 'autovacuum = off', "lock_timeout = '10s'" ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/ts" or die $!;
$node->safe_psql('postgres', "create tablespace ts location '$dir/ts'; create role someone;");
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, v text) using zheap;
insert into t select g, g, 'v' || g from generate_series(1, 2000) g;
create table log (id serial) using zheap;
SQL
my $original = table_digest($node, 't');
my $oid = $node->safe_psql('postgres', "select 'zheap.undo'::regclass::oid");

# an old snapshot that needs undo; its session has no lock on the undo relation
my $old = $node->background_psql('postgres');
$old->query_safe('begin isolation level repeatable read');
my $snapshot = $old->query_safe('select pg_export_snapshot()');

sub changes
{
	$node->safe_psql('postgres', <<'SQL');
update t set n = n + 1 where id % 3 = 0;
begin; update t set v = 'gone', n = -1; rollback;
begin; delete from t where id < 500; insert into t select g, g, 'gone' from generate_series(3000, 3500) g; rollback;
SQL
	return;
}

# All that there is to see is as it was.
sub unharmed
{
	my ($what) = @_;
	my $expected = table_digest($node, 't');
	my $then = $node->safe_psql('postgres', "begin isolation level repeatable read; set transaction snapshot '$snapshot'; "
		  . "select count(*), md5(string_agg(md5(t::text), '' order by md5(t::text))) from t");

	is($then, $original, "$what: the old snapshot sees the old rows");
	changes();
	$node->safe_psql('postgres', 'update t set n = n - 1 where id % 3 = 0');
	is(table_digest($node, 't'), $expected, "$what: changed and changed back");
	return;
}

sub refused
{
	my ($statement, $state) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement", on_error_stop => 1);

	isnt($rc, 0, "refused: $statement");
	like($err, qr/ERROR:  $state: /, 'a clear error');
	unlike($err, qr/could not|corrupt|damaged|server closed/, 'and no damage') or diag($err);
	return;
}

sub harmless
{
	my ($statement) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $statement, on_error_stop => 1);

	is($rc, 0, "harmless: $statement");
	diag($err) if $rc;
	return;
}

changes();

# rows
refused($_, '0A000') foreach (
	'select from zheap.undo',
	'select from zheap.undo for update',
	'select ctid from zheap.undo where ctid = \'(0,1)\'',
	'select from zheap.undo tablesample system (100)',
	'table zheap.undo',
	'insert into zheap.undo default values',
	'delete from zheap.undo',
	'merge into zheap.undo using (values (1)) v on true when matched then delete',
	'copy (select from zheap.undo) to stdout',
	'declare c cursor with hold for select from zheap.undo',
	'create table x as select from zheap.undo',
	'create materialized view x as select from zheap.undo',
	'select from t, zheap.undo');
unharmed('after statements on rows');

# files
refused($_, '0A000') foreach (
	'truncate zheap.undo',
	'truncate zheap.undo, t',
	'begin; truncate zheap.undo',
	'alter table zheap.undo set unlogged',
	'alter table zheap.undo set access method heap',
	'alter table zheap.undo set access method zheap',
	'create table x () using zheap_undo',
	'create table x using zheap_undo as select 1 as a',
	'create temp table x () using zheap_undo',
	'create materialized view x using zheap_undo as select 1 as a',
	'create table x (a int) using heap; alter table x set access method zheap_undo',
	"create table pg_temp_$oid () using zheap_undo",
	'create index on zheap.undo ((1))',
	'create unique index on zheap.undo ((1))',
	'create index concurrently on zheap.undo ((1))');
$node->safe_psql('postgres', 'drop index if exists zheap.undo_expr_idx, zheap.undo_expr_idx1');
unharmed('after statements on files');

# parts of the relation
refused('alter table zheap.undo add column a int generated always as (1) stored', '0A000');
refused('alter table zheap.undo add column a serial', '0A000');
refused('create rule "_RETURN" as on select to zheap.undo do instead select', '(0A000|42P17|55000)');
refused('alter table zheap.undo add check (true)', '0A000');
refused('create table part (a int) partition by list (a); alter table part attach partition zheap.undo default', '[0-9A-Z]{5}');
$node->safe_psql('postgres', 'drop table if exists part');
refused('drop table zheap.undo', '2BP01');
refused('drop table zheap.undo cascade', '2BP01');
refused('drop schema zheap', '2BP01');
refused('drop access method zheap_undo cascade', '2BP01');
refused('cluster zheap.undo', '[0-9A-Z]{5}');
unharmed('after statements on parts');

harmless($_) foreach (
	'vacuum zheap.undo',
	'vacuum (freeze, analyze, verbose) zheap.undo',
	'vacuum (full) zheap.undo',
	'analyze zheap.undo',
	'reindex table zheap.undo',
	'begin; lock table zheap.undo; update t set n = n; rollback',
	'begin; lock table zheap.undo in share mode; update t set n = n; commit',
	"comment on table zheap.undo is 'comment'",
	'grant select on zheap.undo to someone; revoke all on zheap.undo from someone',
	'alter table zheap.undo owner to someone',
	'alter table zheap.undo owner to current_user',
	'alter table zheap.undo set (autovacuum_enabled = off)',
	'alter table zheap.undo set logged',
	'alter table zheap.undo replica identity nothing',
	'alter table zheap.undo enable row level security',
	'alter table zheap.undo force row level security',
	'alter table zheap.undo disable row level security, no force row level security',
	'copy zheap.undo from stdin',
	'select pg_relation_size(\'zheap.undo\'), pg_table_size(\'zheap.undo\')',
	'create table child () inherits (zheap.undo); drop table child',
	'create view undo_view as select from zheap.undo; drop view undo_view',
	'create publication undo_pub for table zheap.undo; drop publication undo_pub',
	'alter table zheap.undo add column a int',
	'alter table zheap.undo drop column a',
	'create trigger nothing before insert on zheap.undo execute function suppress_redundant_updates_trigger(); drop trigger nothing on zheap.undo');
unharmed('after harmless statements');

# another name, another schema
foreach my $statement ('alter table zheap.undo rename to renamed', 'alter schema zheap rename to other',
	'alter table other.renamed set schema public', 'alter table renamed rename to "Undo"')
{
	harmless($statement);
	unharmed($statement);
}
$node->safe_psql('postgres', 'alter table "Undo" rename to undo; alter schema other rename to zheap; alter table undo set schema zheap');
unharmed('back again');

# another tablespace: not half, and not undone under those who wrote there
harmless('alter table zheap.undo set tablespace ts');
unharmed('in another tablespace');
harmless('begin; alter table zheap.undo set tablespace pg_default; rollback');
unharmed('a move that was rolled back');
foreach my $statement ('update t set n = n + 1 where id = 1', 'select count(*) from t where id < 10', 'insert into log default values')
{
	my ($rc, $out, $err) = $node->psql('postgres',
		"begin; alter table zheap.undo set tablespace pg_default; $statement; rollback", on_error_stop => 0);
	unharmed("moved, $statement, rolled back");
	($rc, $out, $err) = $node->psql('postgres',
		"begin; savepoint s; alter table zheap.undo set tablespace pg_default; $statement; rollback to s; update t set n = n where id = 1; commit", on_error_stop => 0);
	unlike($err, qr/WARNING/, 'no warning');
	unharmed("moved, $statement, rolled back to a savepoint");
	($rc, $out, $err) = $node->psql('postgres',
		"do \$\$ begin execute 'alter table zheap.undo set tablespace pg_default'; $statement; raise exception 'no'; end \$\$" =~ s/; select count\(\*\)/; perform count(*)/r);
	unharmed("moved, $statement, error");
}
# a long transaction that writes while it is moved
my $writer = $node->background_psql('postgres');
$writer->query_safe('begin; update t set n = n + 1000');
my ($rc, $out, $err) = $node->psql('postgres', "set lock_timeout = '200ms'; alter table zheap.undo set tablespace pg_default");
isnt($rc, 0, 'nobody moves it under a writer');
$writer->query_safe('rollback');
$writer->quit;
harmless('alter table all in tablespace ts set tablespace pg_default');
unharmed('with all tables of the tablespace');
$old->query_safe('commit');
$old->quit;

# and all of it after a crash
my $expected = table_digest($node, 't');
crash($node);
start_again($node);
is(table_digest($node, 't'), $expected, 'the same after a crash');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', 'all is put back');
is(table_digest($node, 't'), $expected, 'the same once all is put back');
btrees_agree($node, 'to the end', 't_pkey');

# dropped on purpose with the extension, not before
$node->safe_psql('postgres', 'drop table t, log; drop extension zheap');
is($node->safe_psql('postgres', "select count(*) from pg_class where relname = 'undo'"), '0', 'gone with the extension');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
