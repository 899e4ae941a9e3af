-- Which version a TID means, for each tag and phase of the query; what is noted, and for how long.
select zheap_unit_tid(1, 500);
select zheap_unit_tid(null, 500);
