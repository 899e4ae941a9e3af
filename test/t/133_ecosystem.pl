# Extensions that come with the server do on zheap tables as on heap: the statements of test/lib/ecosystem/extensions that need no
# package, CREATE EXTENSION included, run with either access method as the default, and print the same but for what their files list.
# test/ecosystem is the long run, with Debian's packages.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $directory = PostgreSQL::Test::Utils::tempdir_short();
my $sources = "$FindBin::RealBin/../lib/ecosystem";

chomp(my $bindir = `pg_config --bindir`);

sub ecosystem
{
	my ($name, @options) = @_;

	mkdir "$directory/$name" or die;
	return python('ecosystem', '--bindir', $bindir, '--conf', $ENV{TEMP_CONFIG}, '--directory', "$directory/$name", @options);
}

# how many need no package
sub heads
{
	return scalar grep { slurp_file($_) !~ /^-- package: /m } glob "$sources/extensions/*.sql";
}

my ($ok, $out) = ecosystem('all', '--of-server');

# a server may have been built without some of them
my $skipped = () = $out =~ /^skipped .*not installed/mg;
my $all = heads();

plan skip_all => 'contrib is not installed' if $skipped == $all;
ok($ok, 'as on heap') or diag($out);
like($out, qr/^@{[ $all - $skipped ]} passed, 0 failed$/m, 'all of them ran');
cmp_ok($skipped, '<=', 2, 'nearly all are there') or diag($out);

# what differs is found: another answer, rows that are lost, and a list in the head that is not right
mkdir "$directory/files" or die;
append_to_file("$directory/files/answer.sql", "create table t (id int);\nselect :'am';\n");
append_to_file("$directory/files/rows.sql", "create table t (id int);\ninsert into t select 1 where :'am' = 'heap';\n");
append_to_file("$directory/files/listed.sql", "-- < heap\n-- > zheap\ncreate table t (id int);\nselect :'am';\n");
append_to_file("$directory/files/not_so.sql", "-- < heap\n-- > zheap\ncreate table t (id int);\nselect 1;\n");
append_to_file("$directory/files/fails.sql", "create table t (id int);\nselect 1 / 0;\n");
append_to_file("$directory/files/none.sql", "create table t (id int) using heap;\n");
($ok, $out) = ecosystem('faults', '--files', "$directory/files");
is($ok, 0, 'differences fail');
my %told = (answer => '-- > zheap', rows => '-- > t: 0 rows', not_so => 'as the head of not_so.sql', fails => '1 statements fail on heap',
	none => 'no table is a zheap table');
like($out, qr/^FAILED +$_\b.*\n(?: .*\n)*?.*$told{$_}/m, "$_: found") foreach sort keys %told;
like($out, qr/^ok +listed /m, 'a difference that is listed is none');
like($out, qr/^1 passed, 5 failed$/m, 'counted');
done_testing();
