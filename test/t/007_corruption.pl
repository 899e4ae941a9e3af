# Damaged bytes of table and undo pages give ERRCODE_DATA_CORRUPTED with relation and block, or no error, but never a crash.
# Chosen places first, then random bytes; the table's columns are such that any bytes of theirs are values.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Path qw(rmtree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

seed();
my $BLCKSZ = 8192;
my $node = new_server('corruption', [ 'autovacuum = off', 'zheap.undo_worker_naptime = 10min' ],
	extra => [ '--wal-segsize=1' ], checksums => 0);
plan skip_all => 'a server with assertions stops at damaged pages'
  if $node->safe_psql('postgres', 'show debug_assertions') eq 'on';
$node->safe_psql('postgres', <<'SQL');
create table t (id int, n int, c "char", b int8) using zheap;
insert into t select g, g, 'c', g from generate_series(1, 2000) g;
create index t_id on t (id);
update t set n = n + 1 where id % 3 = 0;
begin;
update t set n = -1, b = -1 where id between 50 and 150;
delete from t where id between 151 and 160;
insert into t select g, g, 'p', g from generate_series(2001, 2100) g;
prepare transaction 'pending';
create table v (id int, v text) using zheap;
insert into v select g, repeat(chr(97 + g % 26), g % 300) from generate_series(1, 300) g;
checkpoint;
SQL
my $table = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('t')");
my $text = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('v')");
my $undo = undo_relation($node);
my $undo_file = $node->data_dir . '/' . $node->safe_psql('postgres', "select pg_relation_filepath('$undo')");
$node->stop;
my %saved = map { $_ => slurp_file($_) } ($table, $text, $undo_file);
my $copy = PostgreSQL::Test::Utils::tempdir() . '/data';
PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir, $copy);

my %statements = (
	t => [
		'select count(*), sum(n), sum(b) from t',
		"select count(*) from t where ctid = '(0,60)'",
		'set enable_seqscan = off; select sum(n) from t where id between 40 and 170',
		'set enable_seqscan = off; set enable_indexscan = off; select sum(n) from t where id between 40 and 170',
		'set lock_timeout = 10; update t set n = n + 1 where id = 45',
		'set lock_timeout = 10; update t set n = n + 1 where id < 50',
		'set lock_timeout = 10; update t set n = n + 1 where id < 200',
		'set lock_timeout = 10; delete from t where id = 46',
		"insert into t select g, g, 'x', g from generate_series(3000, 3100) g",
		'analyze t',
		'vacuum t',
		'create table x as select * from t; drop table x',
		'copy t to stdout',
		'select count(*) from t tablesample system (100)',
		'begin; declare c scroll cursor for select * from t; move 100 c; move backward 50 c; commit' ],
	v => [
		'select id from v',
		'select count(*), sum(length(v)), max(v) from v',
		"update v set v = v || 'x' where id between 15 and 25",
		"update v set id = id where id between 15 and 25",
		'delete from v where id = 20',
		'analyze v',
		'vacuum v',
		'copy v to stdout' ]);

# Run the statements on files with bytes changed.  Returns the number of errors
# that tell of the damage; any other error than a few harmless ones is wrong.
sub damaged
{
	my ($what, $relation, @changes) = @_;
	my $told = 0;
	my @wrong;

	# as it was after a clean stop
	rmtree($node->data_dir);
	PostgreSQL::Test::RecursiveCopy::copypath($copy, $node->data_dir);
	chmod 0700, $node->data_dir;
	foreach my $change (@changes)
	{
		my ($file, $block, $offset, $bytes) = @$change;
		if (!defined $bytes)
		{
			truncate $file, $block * $BLCKSZ or die "$file: $!";
		}
		else
		{
			write_bytes($file, $block * $BLCKSZ + $offset, $bytes);
		}
	}
	my $log_start = -s $node->logfile;
	if (!$node->start(fail_ok => 1))
	{
		fail("$what: the server does not start");
		return 0;
	}
	foreach my $statement (@{ $statements{$relation} })
	{
		my ($rc, $out, $err) = $node->psql('postgres',
			"\\set VERBOSITY verbose\nset statement_timeout = '300s'; $statement");
		next if $rc == 0;
		if ($err =~ /ERROR:  XX001: (.*)/)
		{
			my $message = $1;
			$told++;
			push @wrong, "no relation or block: $message"
			  unless $message =~ /(?:relation|table) .*block \d+|block \d+.* (?:relation|table) |undo relation|in file "/;
		}
		elsif ($err !~ /ERROR:  (55P03|22021|23505|22003)/
			&& !($relation eq 'v' && $err =~ /ERROR:  XX000: (?:invalid memory alloc|could not open relation|missing chunk|unexpected chunk|could not find|invalid compress|unrecognized)/))
		{
			push @wrong, "$statement: $err";
		}
	}
	my $log = substr(slurp_file($node->logfile), $log_start);
	push @wrong, "server log: $1" if $log =~ /(.*(?:PANIC|TRAP|terminated by signal).*)/;
	ok(!@wrong, "$what: only clear errors, $told of them");
	diag(substr($_, 0, 400)) foreach @wrong[ 0 .. ($#wrong > 2 ? 2 : $#wrong) ];
	$node->stop('immediate', fail_ok => 1);
	return $told;
}

# without damage there is no error at all
is(damaged('no damage', 't'), 0, 'no damage, no error');

# chosen places of a table page: header 0-23, line pointers from 24, trailer of
# 16 bytes at the end (its byte 7 is the version, its last one the magic),
# slots of 16 bytes before it
my @places = (
	[ 'pd_lower',              12, pack('v', 8000) ],
	[ 'pd_lower too small',    12, pack('v', 3) ],
	[ 'pd_lower odd',          12, pack('v', 30) ],
	[ 'pd_upper',              14, pack('v', 60000) ],
	[ 'pd_special',            16, pack('v', 8191) ],
	[ 'pd_special too small',  16, pack('v', 4000) ],
	[ 'page size and version', 18, pack('v', 0x1234) ],
	[ 'page of zeros',         0,  "\0" x $BLCKSZ, 'maybe' ],
	[ 'page of ones',          0,  "\377" x $BLCKSZ ],
	[ 'magic',                 $BLCKSZ - 1, pack('C', 0x11) ],
	[ 'layout version',        $BLCKSZ - 9, pack('C', 99) ],
	[ 'former layout version', $BLCKSZ - 9, pack('C', 0) ],
	[ 'number of slots',       16, pack('v', $BLCKSZ - 16 - 31 * 16) ],
	[ 'no slots',              16, pack('v', $BLCKSZ - 16) ],
	[ 'half a slot',           16, pack('v', $BLCKSZ - 16 - 40) ],
	[ 'number of slots 255',   16, pack('v', $BLCKSZ - 16 - 255 * 16) ],
	[ 'overflow page',         $BLCKSZ - 8, pack('V', 1) , 'maybe' ],
	[ 'overflow page far away', $BLCKSZ - 8, pack('V', 4000000), 'maybe' ],
	[ 'slot owner',            $BLCKSZ - 32, "\377" x 8, 'maybe' ],
	[ 'slot undo',             $BLCKSZ - 24, "\377" x 8, 'maybe' ],
	[ 'all slots',             $BLCKSZ - 80, "\125" x 64, 'maybe' ],
	[ 'line pointer: offset',  24 + 4 * 44, pack('V', 8000 | 1 << 15 | 30 << 17) ],
	[ 'line pointer: in the header', 24 + 4 * 44, pack('V', 4 | 1 << 15 | 22 << 17) ],
	[ 'line pointer: length',  24 + 4 * 44, pack('V', 8180 | 1 << 15 | 32767 << 17) ],
	[ 'line pointer: length 0', 24 + 4 * 44, pack('V', 8000 | 1 << 15) ],
	[ 'line pointer: kind',    24 + 4 * 44, pack('V', 5 | 2 << 15), 'maybe' ],
	[ 'many line pointers',    24, "\123" x 800 ]);
foreach my $place (@places)
{
	my ($what, $offset, $bytes, $maybe) = @$place;
	my $told = damaged("table page, $what", 't', [ $table, 0, $offset, $bytes ]);
	cmp_ok($told, '>', 0, "table page, $what: it is told") unless $maybe;
}

# header of a row: flags, flags, slot, natts; the row of line pointer 60
sub row_at
{
	my ($file, $block, $offnum) = @_;
	my $lp = unpack('V', substr($saved{$file}, $block * $BLCKSZ + 24 + 4 * ($offnum - 1), 4));
	return ($lp & 0x7fff, $lp >> 17);
}
my ($row, $length) = row_at($table, 0, 45);
foreach my $place (
	[ 'slot that is not there', 2, pack('C', 31) ],
	[ 'slot 255',              2, pack('C', 255) ],
	[ 'natts',                 3, pack('v', 65535) ],
	[ 'natts 5',               3, pack('v', 5), 'maybe' ],
	[ 'natts 0',               3, pack('v', 0), 'maybe' ],
	[ 'flags',                 0, pack('C', 255), 'maybe' ],
	[ 'padding',               0, pack('C', 0x40), 'maybe' ],
	[ 'nulls',                 0, pack('C', 0x01), 'maybe' ],
	[ 'more flags',            1, pack('C', 255), 'maybe' ])
{
	my ($what, $offset, $bytes, $maybe) = @$place;
	my $told = damaged("row, $what", 't', [ $table, 0, $row + $offset, $bytes ]);
	cmp_ok($told, '>', 0, "row, $what: it is told") unless $maybe;
}
# a value that is longer than its row
($row, $length) = row_at($text, 0, 20);
foreach my $bytes (pack('V', 0x7ffffffc), pack('V', 5000 << 2), "\377", "\1\22" . "\377" x 16, "\1\1", "\2\0\0\177", "\0\0\0\0")
{
	damaged('text value ' . unpack('H*', $bytes), 'v', [ $text, 0, $row + 9, $bytes ]);
}

# undo: the prepared transaction is still in progress, so its rows are read from there
my $blocks = length($saved{$undo_file}) / $BLCKSZ;
my @used = grep { unpack('v', substr($saved{$undo_file}, $_ * $BLCKSZ + 12, 2)) > 24 } 0 .. $blocks - 1;
note("undo pages in use: @used");
my $told_undo = 0;
foreach my $place (
	[ 'zeros',            0, "\0" x $BLCKSZ ],
	[ 'ones',             0, "\377" x $BLCKSZ ],
	[ 'pd_lower',         12, pack('v', 24) ],
	[ 'pd_lower high',    12, pack('v', 8170) ],
	[ 'magic',            $BLCKSZ - 2, pack('v', 1) ],
	[ 'generation',       $BLCKSZ - 4, pack('v', 77) ],
	[ 'records, zeros',   24, "\0" x 2000 ],
	[ 'records, ones',    24, "\377" x 2000 ],
	[ 'records, sevens',  24, "\7" x 6000 ],
	[ 'records, noise',   24, join('', map { chr(int(rand(256))) } 1 .. 4000) ])
{
	my ($what, $offset, $bytes) = @$place;
	$told_undo += damaged("undo pages, $what", 't',
		map { [ $undo_file, $_, $offset, $bytes ] } grep { $_ >= 16 } @used);
}
cmp_ok($told_undo, '>', 0, 'damage of undo is told');
# its directory and meta page
foreach my $block (grep { $_ < 16 } @used)
{
	damaged("undo block $block, noise", 't', [ $undo_file, $block, 24, join('', map { chr(int(rand(256))) } 1 .. 200) ]);
}
# the undo relation cut off, emptied
damaged('undo cut off', 't', [ $undo_file, 20, 0 ]);
damaged('undo emptied', 't', [ $undo_file, 0, 0 ]);

# random bytes
for my $round (1 .. short() ? 5 : 25)
{
	my @changes;
	for (1 .. 1 + int(rand(6)))
	{
		my $where = int(rand(4));
		my $bytes = join('', map { chr(int(rand(256))) } 1 .. 1 + int(rand(4)));
		push @changes,
		    $where == 0 ? [ $table, 0, 10 + int(rand(14)), $bytes ]
		  : $where == 1 ? [ $table, int(rand(3)), 24 + int(rand(600)), $bytes ]
		  : $where == 2 ? [ $table, int(rand(3)), $BLCKSZ - 1 - int(rand(90)), $bytes ]
		  :               [ $undo_file, $used[ rand @used ], 12 + int(rand(3000)), $bytes ];
	}
	damaged("random bytes, round $round", 't', @changes);
}

# and without any of it
is(damaged('restored', 't'), 0, 'no damage, no error');
done_testing();
