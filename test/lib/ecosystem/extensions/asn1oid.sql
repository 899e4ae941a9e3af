-- Object identifiers in a B-tree index.
-- package: postgresql-15-asn1oid
create extension asn1oid;
\set type asn1oid
\set value '(''1.3.6.'' || i % 60 || ''.'' || i % 7)::asn1oid'
\set index '(x)'
\set probe 'x between ''1.3.6.11'' and ''1.3.6.20'''
\i parts/values.sql
